package single

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver"
)

// convert turns the server's answer into a Reply. The result must have an answer of the
// server.
func convert(result rueidis.RedisResult) driver.Reply {
	message, err := result.ToMessage()
	if err == nil {
		return convertMessage(&message)
	}
	if rueidis.IsRedisNil(err) {
		return driver.Reply{IsNil: true}
	}
	// The error's own text lacks a leading "ERR"; the message has it.
	text, _ := message.ToString()
	return driver.Reply{Err: &driver.ServerError{Message: text}}
}

func convertMessage(message *rueidis.RedisMessage) driver.Reply {
	switch {
	case message.IsInt64():
		number, _ := message.ToInt64()
		return driver.Reply{Int: number}
	case message.IsNil():
		return driver.Reply{IsNil: true}
	case message.IsArray():
		return convertArray(message)
	}
	text, err := message.ToString()
	if _, refused := rueidis.IsRedisErr(err); refused {
		return driver.Reply{Err: &driver.ServerError{Message: text}}
	}
	if err != nil {
		return driver.Reply{Err: fmt.Errorf("unexpected reply: %w", err)}
	}
	return driver.Reply{Str: text}
}

func convertArray(message *rueidis.RedisMessage) driver.Reply {
	values, _ := message.ToArray()
	replies := make([]driver.Reply, len(values))
	for i := range values {
		replies[i] = convertMessage(&values[i])
	}
	return driver.Reply{Array: replies}
}

// loginCodes are the error codes by which a server refuses a connection.
var loginCodes = []string{
	"WRONGPASS ", "NOAUTH ", "NOPERM ", "NOPROTO ", "LOADING ", "BUSY ", "MASTERDOWN ", "DENIED ", "CLUSTERDOWN ",
}

// refusal turns an error reply within err, from connecting, into a
// *driver.ServerError. rueidis has cut off a leading "ERR" by then; refusal adds
// it to messages without another code.
func refusal(err error) error {
	reply, ok := errors.AsType[*rueidis.RedisError](err)
	if !ok {
		return err
	}
	text := reply.Error()
	if !slices.ContainsFunc(loginCodes, func(code string) bool { return strings.HasPrefix(text, code) }) {
		text = "ERR " + strings.TrimPrefix(text, "ERR ")
	}
	return &driver.ServerError{Message: text}
}
