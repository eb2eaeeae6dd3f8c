package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/redlatch/redlatch/driver"
	driverrueidis "github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
)

// What the server and the connection cost, without a lock library on top.

// bareClient is a rueidis client with the settings of driver/rueidis: one
// connection, no retries, no cache, its timeouts and its buffers.
func bareClient(ctx context.Context, address string, wire *wire) (rueidis.Client, error) {
	const timeout = 3 * time.Second
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress:      []string{address},
		Dialer:           net.Dialer{Timeout: timeout, KeepAlive: timeout / 6},
		ConnWriteTimeout: timeout / 2,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			return wire.Dial(ctx, address)
		},
		AlwaysRESP2:         true,
		ForceSingleClient:   true,
		DisableRetry:        true,
		DisableCache:        true,
		PipelineMultiplex:   -1,
		BlockingPipeline:    math.MaxInt,
		ReadBufferEachConn:  64 << 10,
		WriteBufferEachConn: 64 << 10,
	})
}

// bareContestant sends two prepared commands for each pair.
type bareContestant struct {
	client rueidis.Client
	words  func(name string) (first, second []string)
}

// Worker prepares the two commands for name.
func (c *bareContestant) Worker(name string) worker {
	first, second := c.words(name)
	return &bareWorker{client: c.client, first: first, second: second}
}

// Close ends the connection.
func (c *bareContestant) Close() { c.client.Close() }

type bareWorker struct {
	client        rueidis.Client
	first, second []string
}

// Lock sends the first command.
func (w *bareWorker) Lock(ctx context.Context) error { return w.send(ctx, w.first) }

// Unlock sends the second.
func (w *bareWorker) Unlock(ctx context.Context) error { return w.send(ctx, w.second) }

func (w *bareWorker) send(ctx context.Context, words []string) error {
	return w.client.Do(ctx, w.client.B().Arbitrary(words...).Build()).Error()
}

// openTrips measures two scripts that do nothing, asked for below a context that
// can end or not.
func openTrips(endless bool) func(context.Context, string, *wire) (contestant, error) {
	return func(ctx context.Context, address string, wire *wire) (contestant, error) {
		bare, err := newTrips(ctx, address, wire)
		if err != nil || endless {
			return bare, err
		}
		return &requestContestant{bare}, nil
	}
}

func newTrips(ctx context.Context, address string, wire *wire) (contestant, error) {
	client, err := bareClient(ctx, address, wire)
	if err != nil {
		return nil, err
	}
	// Not with ctx: a context that can end turns the connection into a pipeline for
	// good, in which a lone caller is served more slowly.
	load := client.B().ScriptLoad().Script("return 1").Build()
	digest, err := client.Do(context.Background(), load).ToString()
	if err != nil {
		client.Close()
		return nil, err
	}
	words := []string{"EVALSHA", digest, "0"}
	return &bareContestant{client, func(string) (first, second []string) { return words, words }}, nil
}

// openRaw measures the two scripts of redlatch without redlatch.
func openRaw(ctx context.Context, address string, wire *wire) (contestant, error) {
	words, err := replay(ctx, address)
	if err != nil {
		return nil, err
	}
	client, err := bareClient(ctx, address, wire)
	if err != nil {
		return nil, err
	}
	return &bareContestant{client, words}, nil
}

// replay records redlatch and returns its words for any name, each time with an
// owner of its own.
func replay(ctx context.Context, address string) (func(name string) (acquire, release []string), error) {
	recorded, err := record(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("record the scripts: %w", err)
	}
	client, _, _ := strings.Cut(recorded.owner, ":")
	var owners atomic.Int64
	return func(name string) (acquire, release []string) {
		return recorded.dub(name, protocol.Owner(client, owners.Add(1)))
	}, nil
}

// channelOf is the channel that belongs to a lock.
func channelOf(name string) string { return protocol.LockChannel(name) }

// portContestant sends the two scripts through redlatch's driver: what lies
// between it and redlatch is the cost of the library, what lies between it and the
// raw limit is the cost of the driver.
type portContestant struct {
	driver *driverrueidis.Driver
	words  func(name string) (acquire, release []string)
}

func openPort(ctx context.Context, address string, wire *wire) (contestant, error) {
	words, err := replay(ctx, address)
	if err != nil {
		return nil, err
	}
	d, err := driverrueidis.Open(ctx, driverrueidis.Options{Address: address, Dial: wire.Dial})
	if err != nil {
		return nil, err
	}
	return &portContestant{d, words}, nil
}

// Worker prepares the two commands for name.
func (c *portContestant) Worker(name string) worker {
	acquire, release := c.words(name)
	return &portWorker{
		driver:  c.driver,
		acquire: driver.Command{Words: acquire, Key: name},
		release: driver.Command{Words: release, Key: name},
	}
}

// Close ends the connection.
func (c *portContestant) Close() { c.driver.Close() }

type portWorker struct {
	driver           *driverrueidis.Driver
	acquire, release driver.Command
}

// Lock sends the acquisition.
func (w *portWorker) Lock(ctx context.Context) error { return w.driver.Do(ctx, w.acquire).Err }

// Unlock sends the release.
func (w *portWorker) Unlock(ctx context.Context) error { return w.driver.Do(ctx, w.release).Err }
