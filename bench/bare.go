package main

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/redlatch/redlatch/driver"
	driverrueidis "github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// What the server and the connection cost, without a lock library on top.

// pair is the two requests of a worker: each is a command, or several in one pipeline.
type pair struct {
	lock, unlock [][]string
	// number is the index of a word that counts the requests; 0 for none.
	number int
}

// prepared makes the requests for a name, on a server that knows their scripts.
type prepared func(name string) (pair, error)

// bare opens a contestant that sends prepared requests through a rueidis client.
func bare(prepare func(ctx context.Context, address string, c rueidis.Client) (prepared, error)) opener {
	return func(ctx context.Context, address string, wire *wire) (client, error) {
		c, err := bareClient(ctx, address, wire)
		if err != nil {
			return client{}, err
		}
		pairs, err := prepare(ctx, address, c)
		if err != nil {
			c.Close()
			return client{}, err
		}
		return client{close: c.Close, worker: func(name string) (worker, error) {
			p, err := pairs(name)
			sent := 0
			send := func(words [][]string) func(context.Context) error {
				return func(ctx context.Context) error {
					if p.number > 0 {
						sent++
						words[0][p.number] = strconv.Itoa(sent)
					}
					return sendBare(ctx, c, words)
				}
			}
			return worker{lock: send(p.lock), unlock: send(p.unlock)}, err
		}}, nil
	}
}

func sendBare(ctx context.Context, c rueidis.Client, request [][]string) error {
	if len(request) == 1 {
		n, err := c.Do(ctx, c.B().Arbitrary(request[0]...).Build()).AsInt64()
		if err == nil && n < 0 {
			err = fmt.Errorf("a script that is to take or put back answered %d", n)
		}
		return err
	}
	commands := make([]rueidis.Completed, len(request))
	for i, words := range request {
		commands[i] = c.B().Arbitrary(words...).Build()
	}
	for _, result := range c.DoMulti(ctx, commands...) {
		if err := result.Error(); err != nil {
			return err
		}
	}
	return nil
}

// bareClient is a rueidis client with the settings of driver/rueidis: one connection, no retries, no
// cache, its timeouts and its buffers.
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

// load tells the server a script. It takes no context: one that can end turns the connection into a
// pipeline for good, in which a lone caller is served more slowly.
func load(c rueidis.Client, source string) (digest string, err error) {
	return c.Do(context.Background(), c.B().ScriptLoad().Script(source).Build()).ToString()
}

// byDigest loads the script of a call, and returns the words that run it.
func byDigest(c rueidis.Client, call script.Call) ([][]string, error) {
	words := call.WithSource().Words
	digest, err := load(c, words[1])
	return [][]string{append([]string{"EVALSHA", digest}, words[2:]...)}, err
}

// trips are two scripts that do nothing.
func trips(_ context.Context, _ string, c rueidis.Client) (prepared, error) {
	digest, err := load(c, "return 1")
	words := [][]string{{"EVALSHA", digest, "0"}}
	return func(string) (pair, error) { return pair{lock: words, unlock: words}, nil }, err
}

// replay is what redlatch sends, without redlatch.
func replay(ctx context.Context, address string, _ rueidis.Client) (prepared, error) {
	recorded, err := record(ctx, address)
	return func(name string) (pair, error) { return recorded.pair(name), nil }, err
}

// replayScript is the same with a release by a script, as of a lock in a Cluster.
func replayScript(ctx context.Context, address string, c rueidis.Client) (prepared, error) {
	recorded, err := record(ctx, address)
	return func(name string) (p pair, err error) {
		const lease = 30 * time.Second
		p = recorded.pair(name)
		owner := p.unlock[0][2] // HDEL lock owner
		p.unlock, err = byDigest(c, script.NewMutex(name, protocol.Plain).Release(owner, 0, script.Counts{}, lease))
		return p, err
	}, err
}

// calls are the scripts of a semaphore with one permit, which they make.
func calls(c rueidis.Client, name string, number int, take, put script.Call) (p pair, err error) {
	p.number = number
	if err = c.Do(context.Background(), c.B().Set().Key(name).Value("1").Build()).Error(); err != nil {
		return p, err
	}
	if p.lock, err = byDigest(c, take); err != nil {
		return p, err
	}
	p.unlock, err = byDigest(c, put)
	return p, err
}

func rawPermits(_ context.Context, _ string, c rueidis.Client) (prepared, error) {
	return func(name string) (pair, error) {
		p, id := script.NewPermits(name, protocol.Plain), hex.EncodeToString([]byte("sixteen bytes id"))
		return calls(c, name, 0, p.Acquire(id, script.Counts{}, 30*time.Second, true), p.Release(id, 0, script.Counts{}, 0))
	}, nil
}

func rawSemaphore(_ context.Context, _ string, c rueidis.Client) (prepared, error) {
	return func(name string) (pair, error) {
		s := script.NewSemaphore(name, protocol.Plain)
		r := script.Request{Record: protocol.RequestKey(name, "00000000-0000-4000-8000-000000000000", 1), Number: 1, Keep: time.Minute}
		return calls(c, name, 6, s.Acquire(1, r), s.Add(1, r)) // EVALSHA digest 2 counter record permits number
	}, nil
}

// openPort sends what redlatch sends through redlatch's driver: what lies between it and redlatch is
// the cost of the library, what lies between it and the raw commands is the cost of the driver.
func openPort(ctx context.Context, address string, wire *wire) (client, error) {
	recorded, err := record(ctx, address)
	if err != nil {
		return client{}, err
	}
	d, err := driverrueidis.Open(ctx, driverrueidis.Options{Address: address, Dial: wire.Dial})
	if err != nil {
		return client{}, err
	}
	return client{close: d.Close, worker: func(name string) (worker, error) {
		p := recorded.pair(name)
		send := func(request [][]string) func(context.Context) error {
			var commands []driver.Command
			for _, words := range request {
				commands = append(commands, driver.Command{Words: words, Key: name})
			}
			return func(ctx context.Context) error { return sendPort(ctx, d, commands) }
		}
		return worker{lock: send(p.lock), unlock: send(p.unlock)}, nil
	}}, nil
}

func sendPort(ctx context.Context, d *driverrueidis.Driver, commands []driver.Command) error {
	if len(commands) == 1 {
		return d.Do(ctx, commands[0]).Err
	}
	for _, reply := range d.Pipeline(ctx, commands...) {
		if reply.Err != nil {
			return reply.Err
		}
	}
	return nil
}
