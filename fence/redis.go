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

// Redis guards keys in Redis. For each guarded key, a second key has the last token that passed:
// redlatch:fence:{key}, or redlatch:fence:{tag}:key if the key has a hash tag. Both keys lie in
// one slot of a cluster.
//
// While that slot migrates to another server, Redis may answer Do with TRYAGAIN, because the two
// keys are not on one server. Nothing has passed then. Repeat the call until the slot has
// migrated. Pass uses one key and is not affected.
//
// The guard depends on the data of the server. A failover to a replica without the newest
// writes, or an eviction, loses the last token. Use a maxmemory-policy that does not evict these
// keys. Writes that do not use this guard are not checked.
type Redis struct {
	Driver driver.Driver
	// Keep is how long the last token is remembered after it has passed. Choose a time far
	// longer than any pause of a holder: a holder that resumes later passes. Default: 0, which
	// means for ever, with one small key for each guarded key.
	Keep time.Duration
}

var _ Store = Redis{}

//go:embed guarded.lua
var guarded string

// guardedDigest is the name by which the server knows the script.
var guardedDigest = protocol.Digest(guarded)

// Set is Do for the command SET, without options.
func (r Redis) Set(ctx context.Context, token int64, key, value string) error {
	_, err := r.Do(ctx, token, "SET", key, value)
	return err
}

// Do runs a command on a key if no newer token has passed for this key, and returns its reply.
// The command may be any with one key, which is its first argument, and at most 4,000 further
// arguments:
//
//	reply, err := guard.Do(ctx, hold.Token(), "HSET", "order:7", "state", "paid")
//
// Lua rounds an integer reply above 2^53. The value in Redis is exact.
//
// Do refuses a key that is empty, or that has a closing brace but no hash tag: the token could
// not lie in the same slot.
//
// Check and command are one script. Do blocks until the server has answered, and ends with ctx or
// the driver's timeout. The errors are ErrStale, ErrNoToken, a *driver.ServerError if the server
// or the command refused, or the driver's. An error of the driver says whether the request was
// sent. Do never sends it a second time. After an error that leaves this open, repeat the call
// only if repeating the command does no harm.
func (r Redis) Do(ctx context.Context, token int64, command, key string, args ...string) (driver.Reply, error) {
	beside := tokenKeyOf(key)
	var err error
	switch {
	case command == "":
		err = errors.New("the command is empty")
	case len(args) > maxArguments:
		err = fmt.Errorf("the command has %d arguments, more than %d", len(args), maxArguments)
	case driver.Slot(beside) != driver.Slot(key):
		err = errors.New("the key has no hash tag that its token could share")
	default:
		return r.run(ctx, token, key, []string{"2", beside, key}, append([]string{command}, args...))
	}
	return driver.Reply{}, fmt.Errorf("fence: key %q: %w", key, err)
}

// Pass is Store.Pass. The resource takes the place of the guarded key, which is not touched. It
// blocks and ends as Do does.
func (r Redis) Pass(ctx context.Context, token int64, resource string) error {
	_, err := r.run(ctx, token, resource, []string{"1", tokenKeyOf(resource)}, nil)
	return err
}

// maxArguments is the script's limit of arguments behind the key.
const maxArguments = 4000

// tokenKeyOf is the key of the last token of a guarded key. It has the same hash tag, and belongs
// to no other guarded key.
func tokenKeyOf(key string) string {
	tag := key // without a tag, Redis hashes the whole key
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

// run runs the script, which checks a token and then runs the command. What names the guarded
// key in errors.
func (r Redis) run(ctx context.Context, token int64, what string, keys, command []string) (driver.Reply, error) {
	err := check(token)
	if err == nil && r.Keep != 0 && r.Keep < time.Millisecond {
		err = errors.New("Redis.Keep is less than 1ms")
	}
	var reply driver.Reply
	if err == nil {
		settings := []string{strconv.FormatInt(token, 10), strconv.FormatInt(r.Keep.Milliseconds(), 10)}
		reply, err = verdict(token, r.eval(ctx, keys[1], slices.Concat(keys, settings, command)))
	}
	if err != nil {
		return driver.Reply{}, fmt.Errorf("fence: key %q: %w", what, err)
	}
	return reply, nil
}

// eval runs the script by its digest. If the server does not know the script, it has not run, and
// eval sends its text.
func (r Redis) eval(ctx context.Context, key string, words []string) driver.Reply {
	reply := r.Driver.Do(ctx, driver.Command{Words: append([]string{"EVALSHA", guardedDigest}, words...), Key: key})
	if refused, ok := errors.AsType[*driver.ServerError](reply.Err); ok && refused.Code() == "NOSCRIPT" {
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
