package fence

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Redis guards keys in Redis. Beside each guarded key stands another one with the last
// token that passed. It is redlatch:fence:{key}, or redlatch:fence:{tag}:key if the key
// has a hash tag. Both lie in one slot of a cluster.
//
// While that slot moves to another server, Do is refused with TRYAGAIN if the two keys are
// not on one server. Nothing has passed then. Repeat the call until the slot has moved.
// Pass uses one key and is not affected.
//
// The guard is as good as what the server keeps. A failover to a replica without the
// newest writes, or an eviction, takes the last token back; use a maxmemory-policy that
// evicts none of these keys. A write that does not come through a Redis is not guarded.
type Redis struct {
	Driver driver.Driver
	// Keep is for how long the last token is remembered after it has passed. Zero
	// means for ever: one small key for each key that was ever guarded. Anything else
	// must be far longer than a holder can be paused: one that comes back later
	// passes.
	Keep time.Duration
}

var _ Store = Redis{}

//go:embed guarded.lua
var guarded string

// guardedDigest is what the server knows the script by.
var guardedDigest = protocol.Digest(guarded)

// Set is Do for the command SET, without options.
func (r Redis) Set(ctx context.Context, token int64, key, value string) error {
	_, err := r.Do(ctx, token, "SET", key, value)
	return err
}

// Do runs a command on a key if no newer token has passed for this key, and returns
// its reply. It may be any command that knows one key, as its first argument, with up to
// 4,000 further arguments:
//
//	reply, err := guard.Do(ctx, hold.Token(), "HSET", "order:7", "state", "paid")
//
// An integer reply beyond 2^53 is rounded, because Lua cannot hold it. In Redis it is exact.
//
// A key that is empty, or has a closing brace but no hash tag, is refused: its token could
// not lie in its slot.
//
// Check and command are one script. It blocks until the server has answered, and ends
// with ctx or the driver's timeout. The errors are ErrStale, ErrNoToken, a
// *driver.ServerError where the server or the command refused, or the driver's, which
// say whether the request was sent. It is never sent a second time: after an error
// that leaves this open, repeating the call is harmless where repeating the command is.
func (r Redis) Do(ctx context.Context, token int64, command, key string, args ...string) (driver.Reply, error) {
	beside := tokenKeyOf(key)
	var err error
	switch {
	case command == "":
		err = errors.New("the command is empty")
	case len(args) > mostArguments:
		err = fmt.Errorf("the command has %d arguments, more than %d", len(args), mostArguments)
	case driver.Slot(beside) != driver.Slot(key):
		err = errors.New("the key has no hash tag that its token could share")
	default:
		return r.run(ctx, token, key, []string{"2", beside, key}, append([]string{command}, args...))
	}
	return driver.Reply{}, fmt.Errorf("fence: key %q: %w", key, err)
}

// Pass is Store.Pass, with the resource for the guarded key, which is not touched. It
// blocks and ends as Do does.
func (r Redis) Pass(ctx context.Context, token int64, resource string) error {
	_, err := r.run(ctx, token, resource, []string{"1", tokenKeyOf(resource)}, nil)
	return err
}

// mostArguments is the limit of the script for the arguments behind the key.
const mostArguments = 4000

// tokenKeyOf is where the last token of a key stands. It has the hash tag of the key, and
// is the token of no other key.
func tokenKeyOf(key string) string {
	tag := key // what Redis takes as the tag if there is none
	if strings.Contains(key, "}") {
		_, rest, _ := strings.Cut(key, "{")
		tag, _, _ = strings.Cut(rest, "}")
	}
	name := "redlatch:fence:{" + tag + "}"
	if tag != key {
		name += ":" + key
	}
	return name
}

// run has the script check a token, with these keys, and then run the command. What names
// the guarded key in errors.
func (r Redis) run(ctx context.Context, token int64, what string, keys, command []string) (driver.Reply, error) {
	err := check(token)
	if err == nil && r.Keep != 0 && r.Keep < time.Millisecond {
		err = errors.New("Redis.Keep is less than 1ms")
	}
	if err != nil {
		return driver.Reply{}, fmt.Errorf("fence: key %q: %w", what, err)
	}
	words := slices.Concat(keys, []string{strconv.FormatInt(token, 10), strconv.FormatInt(r.Keep.Milliseconds(), 10)}, command)
	reply, err := verdict(token, r.eval(ctx, keys[1], words))
	if err != nil {
		return driver.Reply{}, fmt.Errorf("fence: key %q: %w", what, err)
	}
	return reply, nil
}

// eval runs the script by its digest, and with its text where the server does not know
// it yet. It has not run then, so this is no repetition.
func (r Redis) eval(ctx context.Context, key string, words []string) driver.Reply {
	reply := r.Driver.Do(ctx, driver.Command{Words: append([]string{"EVALSHA", guardedDigest}, words...), Key: key})
	var refused *driver.ServerError
	if errors.As(reply.Err, &refused) && refused.Code() == "NOSCRIPT" {
		return r.Driver.Do(ctx, driver.Command{Words: append([]string{"EVAL", guarded}, words...), Key: key})
	}
	return reply
}

// verdict reads the reply of the script.
func verdict(token int64, reply driver.Reply) (driver.Reply, error) {
	switch {
	case reply.Err != nil:
		return driver.Reply{}, reply.Err
	case len(reply.Array) != 2:
		return driver.Reply{}, fmt.Errorf("script guarded: unexpected reply %v", reply)
	case reply.Array[0].Int == 1:
		return reply.Array[1], nil
	}
	last, err := strconv.ParseInt(reply.Array[1].Str, 10, 64)
	if err != nil {
		return driver.Reply{}, fmt.Errorf("what is remembered is not a token: %s", protocol.Show(reply.Array[1].Str))
	}
	return driver.Reply{}, &StaleError{Token: token, Last: last}
}
