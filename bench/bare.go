package main

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"strconv"
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

// send sends a request: a command, or several in one pipeline.
type send func(ctx context.Context, request []driver.Command) error

// pair is the two requests of a worker.
type pair struct {
	lock, unlock []driver.Command
	// number is the index of a word that counts the requests; 0 for none.
	number int
}

// connect makes a connection to send on, and returns what closes it.
type connect func(ctx context.Context, address string, wire *wire) (send, func(), error)

// prepare makes the requests for a name, and what the server is sent before them: the scripts' sources
// and what the scripts need.
type prepare func(name string) (first []driver.Command, p pair)

// bare opens a contestant that sends prepared requests.
func bare(connect connect, prepare prepare) opener {
	return func(ctx context.Context, address string, wire *wire) (client, error) {
		send, end, err := connect(ctx, address, wire)
		if err != nil {
			return client{}, err
		}
		return client{close: end, worker: func(name string) (worker, error) {
			first, p := prepare(name)
			// A context that can end turns the connection into a pipeline for good, in which a lone caller
			// is served more slowly.
			if err := send(context.Background(), first); err != nil {
				return worker{}, err
			}
			sent := 0
			count := func(request []driver.Command) func(context.Context) error {
				return func(ctx context.Context) error {
					if p.number > 0 {
						sent++
						request[0].Words[p.number] = strconv.Itoa(sent)
					}
					return send(ctx, request)
				}
			}
			return worker{lock: count(p.lock), unlock: count(p.unlock)}, nil
		}}, nil
	}
}

// viaRueidis sends through a rueidis client with the settings of driver/rueidis.
func viaRueidis(_ context.Context, address string, wire *wire) (send, func(), error) {
	c, err := bareClient(address, wire)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, request []driver.Command) error { return sendBare(ctx, c, request) }, c.Close, nil
}

func sendBare(ctx context.Context, c rueidis.Client, request []driver.Command) error {
	if len(request) == 1 {
		reply := c.Do(ctx, c.B().Arbitrary(request[0].Words...).Build())
		if n, err := reply.AsInt64(); err == nil && n < 0 {
			return fmt.Errorf("a script that is to take or put back answered %d", n)
		}
		return reply.Error()
	}
	commands := make([]rueidis.Completed, len(request))
	for i, command := range request {
		commands[i] = c.B().Arbitrary(command.Words...).Build()
	}
	for _, result := range c.DoMulti(ctx, commands...) {
		if err := result.Error(); err != nil {
			return err
		}
	}
	return nil
}

// viaPort sends through redlatch's driver: what lies between it and redlatch is the cost of the library,
// what lies between it and the raw commands is the cost of the driver.
func viaPort(ctx context.Context, address string, wire *wire) (send, func(), error) {
	d, err := driverrueidis.Open(ctx, driverrueidis.Options{Address: address, Dial: wire.Dial})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, request []driver.Command) error {
		if len(request) == 1 {
			return d.Do(ctx, request[0]).Err
		}
		for _, reply := range d.Pipeline(ctx, request...) {
			if reply.Err != nil {
				return reply.Err
			}
		}
		return nil
	}, d.Close, nil
}

// bareClient is a rueidis client with the settings of driver/rueidis: one connection, no retries, no
// cache, its timeouts and its buffers.
func bareClient(address string, wire *wire) (rueidis.Client, error) {
	const timeout = 3 * time.Second
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress:         []string{address},
		Dialer:              net.Dialer{Timeout: timeout, KeepAlive: timeout / 6},
		ConnWriteTimeout:    timeout / 2,
		DialCtxFn:           wire.dialRueidis(address),
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

// dialRueidis is what a rueidis client dials with.
func (w *wire) dialRueidis(address string) func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return func(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
		return w.Dial(ctx, address)
	}
}

func command(key string, words ...string) driver.Command {
	return driver.Command{Words: words, Key: key}
}

// byDigest is a call of a script, and what tells the server the script.
func byDigest(call script.Call) (first, request []driver.Command) {
	c := call.WithSource()
	source := c.Words[1]
	words := append([]string{"EVALSHA", protocol.Digest(source)}, c.Words[2:]...)
	return []driver.Command{command(c.Key, "SCRIPT", "LOAD", source)}, []driver.Command{command(c.Key, words...)}
}

// scripts are the calls of a pair.
func scripts(lock, unlock script.Call) (first []driver.Command, p pair) {
	one, lockRequest := byDigest(lock)
	two, unlockRequest := byDigest(unlock)
	return append(one, two...), pair{lock: lockRequest, unlock: unlockRequest}
}

const bareLease = 30 * time.Second

var (
	once = script.Counts{Writes: 1}
	none = script.Counts{}
)

var bareOwners atomic.Int64

// bareOwner is an owner that nobody else is.
func bareOwner() string {
	return protocol.Owner("00000000-0000-4000-8000-000000000000", bareOwners.Add(1))
}

// trips are two scripts that do nothing.
func trips(name string) (first []driver.Command, p pair) {
	const nothing = "return 1"
	request := []driver.Command{command(name, "EVALSHA", protocol.Digest(nothing), "0")}
	return []driver.Command{command(name, "SCRIPT", "LOAD", nothing)}, pair{lock: request, unlock: request}
}

// replay is what redlatch sends, without redlatch.
func replay(name string) (first []driver.Command, p pair) {
	m, owner := script.NewMutex(name, protocol.Plain), bareOwner()
	first, p.lock = byDigest(m.Acquire(owner, once, bareLease, false))
	verb, payload, _ := strings.Cut(m.Via.Unlocked(), " ")
	p.unlock = []driver.Command{command(name, "HDEL", m.Lock, owner), command(name, verb, m.Channel, payload)}
	return first, p
}

// replayScript is the same with a release by a script, as of a lock in a Cluster.
func replayScript(name string) (first []driver.Command, p pair) {
	m, owner := script.NewMutex(name, protocol.Plain), bareOwner()
	return scripts(m.Acquire(owner, once, bareLease, false), m.Release(owner, 0, none, bareLease))
}

// rawPermits and rawSemaphore are the scripts of a semaphore with one permit, which they make.
func rawPermits(name string) (first []driver.Command, p pair) {
	s, id := script.NewPermits(name, protocol.Plain), hex.EncodeToString([]byte("sixteen bytes id"))
	first, p = scripts(s.Acquire(id, none, bareLease, true), s.Release(id, 0, none, 0))
	return append(first, command(name, "SET", name, "1")), p
}

func rawSemaphore(name string) (first []driver.Command, p pair) {
	s, owner := script.NewSemaphore(name, protocol.Plain), "00000000-0000-4000-8000-000000000000"
	r := script.Request{Record: protocol.RequestKey(name, owner, 1), Number: 1, Keep: time.Minute}
	first, p = scripts(s.Acquire(r, 1), s.Add(1, r))
	p.number = 5 // EVALSHA digest 2 counter record number
	return append(first, command(name, "SET", name, "1")), p
}

// openPingPong is two players, each in a process of its own. To lock is to get a message and to run
// the script of an acquisition; to unlock is to send the other one a message. So a hand-over is
// publish, delivery and one script. It compares, and limits nothing: a contender whose request is
// already on its way when the lock is released needs no message.
func openPingPong(ctx context.Context, address string, wire *wire) (client, error) {
	c, err := bareClient(address, wire)
	if err != nil {
		return client{}, err
	}
	return client{close: c.Close, worker: func(name string) (worker, error) {
		player, err := c.Do(ctx, c.B().Incr().Key(name+":players").Build()).AsInt64()
		if err != nil {
			return worker{}, err
		}
		ball, err := subscribe(ctx, address, wire, fmt.Sprintf("%s:%d", name, player))
		if player == 1 {
			ball <- struct{}{} // it serves
		}
		// The same owner again and again: each acquisition but the first one re-enters, which is the
		// same work for the server.
		first, p := replay(fmt.Sprintf("%s:lock:%d", name, player))
		if err == nil {
			err = sendBare(ctx, c, first)
		}
		throw := []driver.Command{command("", "PUBLISH", fmt.Sprintf("%s:%d", name, 3-player), "0")}
		return worker{
			lock: func(ctx context.Context) error {
				select {
				case <-ball:
					return sendBare(ctx, c, p.lock)
				case <-ctx.Done():
					return ctx.Err()
				}
			},
			unlock: func(ctx context.Context) error { return sendBare(ctx, c, throw) },
		}, err
	}}, nil
}

// subscribe returns when the server has acknowledged it. What comes is in the channel, on a connection
// of its own, which ends with the process.
func subscribe(ctx context.Context, address string, wire *wire, channel string) (chan struct{}, error) {
	messages, acknowledged := make(chan struct{}, 1), make(chan error, 1)
	c, err := bareClient(address, wire)
	if err != nil {
		return messages, err
	}
	listening, _ := c.Dedicate()
	listening.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(rueidis.PubSubMessage) { messages <- struct{}{} },
		OnSubscription: func(rueidis.PubSubSubscription) { acknowledged <- nil },
	})
	if err := listening.Do(ctx, c.B().Subscribe().Channel(channel).Build()).Error(); err != nil {
		return messages, err
	}
	return messages, <-acknowledged
}
