package goredis

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
)

// errNoReply reports a command that go-redis returned with neither a value nor an error.
var errNoReply = errors.New("no reply, although go-redis reports no error: a hook of the client may hide it")

// convert turns what go-redis has read into a Reply.
func convert(sent *once) driver.Reply {
	value, err := sent.Val(), sent.Err()
	switch {
	case errors.Is(err, redis.Nil):
		return driver.Reply{IsNil: true}
	case err != nil:
		return driver.Reply{Err: refusal(err)}
	case value == nil:
		return driver.Reply{Err: errNoReply} // nil would mean that a lock was taken
	}
	return convertValue(value)
}

// isReply says whether a server has sent an error.
func isReply(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// refusal turns an error reply into a *driver.ServerError.
func refusal(err error) error {
	if reply, ok := errors.AsType[redis.Error](err); ok {
		return &driver.ServerError{Message: reply.Error()}
	}
	return err
}

// convertValue turns a value of RESP2 or RESP3 into one of RESP2.
func convertValue(value any) driver.Reply {
	switch v := value.(type) {
	case nil:
		return driver.Reply{IsNil: true}
	case string:
		return driver.Reply{Str: v}
	case int64:
		return driver.Reply{Int: v}
	case bool:
		if v {
			return driver.Reply{Int: 1}
		}
		return driver.Reply{}
	case float64:
		return driver.Reply{Str: strconv.FormatFloat(v, 'g', -1, 64)}
	case *big.Int:
		return driver.Reply{Str: v.String()}
	case []any:
		replies := make([]driver.Reply, len(v))
		for i, element := range v {
			replies[i] = convertValue(element)
		}
		return driver.Reply{Array: replies}
	case map[any]any:
		replies := make([]driver.Reply, 0, 2*len(v))
		for key, element := range v {
			replies = append(replies, convertValue(key), convertValue(element))
		}
		return driver.Reply{Array: replies}
	case error:
		return driver.Reply{Err: refusal(v)}
	}
	return driver.Reply{Err: fmt.Errorf("unexpected reply of type %T", value)}
}
