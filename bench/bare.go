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
	"github.com/redlatch/redlatch/internal/script"
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

// bareContestant sends two prepared requests for each pair.
type bareContestant struct {
	client rueidis.Client
	words  func(name string) (first, second [][]string)
}

// Worker prepares the two requests for name.
func (c *bareContestant) Worker(name string) worker {
	first, second := c.words(name)
	return &bareWorker{client: c.client, first: first, second: second}
}

// Close ends the connection.
func (c *bareContestant) Close() { c.client.Close() }

type bareWorker struct {
	client        rueidis.Client
	first, second [][]string
}

// Lock sends the first request.
func (w *bareWorker) Lock(ctx context.Context) error { return w.send(ctx, w.first) }

// Unlock sends the second.
func (w *bareWorker) Unlock(ctx context.Context) error { return w.send(ctx, w.second) }

func (w *bareWorker) send(ctx context.Context, request [][]string) error {
	if len(request) == 1 {
		return w.client.Do(ctx, w.client.B().Arbitrary(request[0]...).Build()).Error()
	}
	commands := make([]rueidis.Completed, len(request))
	for i, words := range request {
		commands[i] = w.client.B().Arbitrary(words...).Build()
	}
	for _, result := range w.client.DoMulti(ctx, commands...) {
		if err := result.Error(); err != nil {
			return err
		}
	}
	return nil
}

// openTrips measures two scripts that do nothing.
func openTrips(ctx context.Context, address string, wire *wire) (contestant, error) {
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
	words := [][]string{{"EVALSHA", digest, "0"}}
	return &bareContestant{client, func(string) (first, second [][]string) { return words, words }}, nil
}

// openRaw measures the commands of redlatch without redlatch.
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

// openRawScript measures the same with a release by a script, as of a lock in a Cluster.
func openRawScript(ctx context.Context, address string, wire *wire) (contestant, error) {
	client, err := bareClient(ctx, address, wire)
	if err != nil {
		return nil, err
	}
	both, err := replay(ctx, address)
	if err != nil {
		client.Close()
		return nil, err
	}
	load := client.B().ScriptLoad().Script(releaseByScript("", "").WithSource().Words[1]).Build()
	digest, err := client.Do(context.Background(), load).ToString() // see openTrips
	if err != nil {
		client.Close()
		return nil, err
	}
	return &bareContestant{client, func(name string) (acquire, release [][]string) {
		acquire, twice := both(name)
		owner := twice[0][2] // HDEL lock owner
		return acquire, [][]string{append([]string{"EVALSHA", digest}, releaseByScript(name, owner).WithSource().Words[2:]...)}
	}}, nil
}

func releaseByScript(name, owner string) script.Call {
	const lease = 30 * time.Second
	return script.NewMutex(name, protocol.Plain).Release(owner, 0, script.Counts{}, lease)
}

// openRawRequest measures the same below a context that can end.
func openRawRequest(ctx context.Context, address string, wire *wire) (contestant, error) {
	c, err := openRaw(ctx, address, wire)
	return &requestContestant{c}, err
}

// replay records redlatch and returns its words for any name, each time with an
// owner of its own.
func replay(ctx context.Context, address string) (func(name string) (acquire, release [][]string), error) {
	recorded, err := record(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("record the scripts: %w", err)
	}
	client, _, _ := strings.Cut(recorded.owner, ":")
	var owners atomic.Int64
	return func(name string) (acquire, release [][]string) {
		return recorded.dub(name, protocol.Owner(client, owners.Add(1)))
	}, nil
}

// channelOf is the channel that belongs to a lock.
func channelOf(name string) string { return protocol.LockChannel(name) }

// portContestant sends the same commands through redlatch's driver: what lies
// between it and redlatch is the cost of the library, what lies between it and the
// raw commands is the cost of the driver.
type portContestant struct {
	driver *driverrueidis.Driver
	words  func(name string) (acquire, release [][]string)
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

// Worker prepares the two requests for name.
func (c *portContestant) Worker(name string) worker {
	acquire, release := c.words(name)
	return &portWorker{driver: c.driver, acquire: commands(acquire, name), release: commands(release, name)}
}

func commands(request [][]string, key string) (all []driver.Command) {
	for _, words := range request {
		all = append(all, driver.Command{Words: words, Key: key})
	}
	return all
}

// Close ends the connection.
func (c *portContestant) Close() { c.driver.Close() }

type portWorker struct {
	driver           *driverrueidis.Driver
	acquire, release []driver.Command
}

// Lock sends the acquisition.
func (w *portWorker) Lock(ctx context.Context) error { return w.send(ctx, w.acquire) }

// Unlock sends the release.
func (w *portWorker) Unlock(ctx context.Context) error { return w.send(ctx, w.release) }

func (w *portWorker) send(ctx context.Context, request []driver.Command) error {
	if len(request) == 1 {
		return w.driver.Do(ctx, request[0]).Err
	}
	for _, reply := range w.driver.Pipeline(ctx, request...) {
		if reply.Err != nil {
			return reply.Err
		}
	}
	return nil
}
