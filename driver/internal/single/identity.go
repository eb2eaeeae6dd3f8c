package single

import (
	"context"
	"fmt"
	"net"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// ready sends a PING, and asks the server who it is. Then it asks accept whether to use the server. Any answer to
// the PING will do except one: a server that is loading its data would refuse every command, but only for a while.
//
// There is no context here; the socket ends the call. After the
// first call with a context that can end, rueidis reads on a goroutine of its
// own, which is slower as long as there is only one caller.
func ready(client rueidis.Client, conn net.Conn, accept func(about, engines driver.Reply) error) (call.Identity, error) {
	questions := []rueidis.Completed{client.B().Ping().Build(), arbitrary(client, call.AskRole), arbitrary(client, call.AskAbout)}
	if accept != nil {
		questions = append(questions, arbitrary(client, driver.Command{Words: []string{"INFO", "scriptingengines"}}))
	}
	results := client.DoMulti(context.Background(), questions...)
	if reply, ok := rueidis.IsRedisErr(results[0].Error()); ok && reply.IsLoading() {
		return call.Identity{}, reply
	}
	for _, result := range results {
		if err := result.NonRedisError(); err != nil {
			return call.Identity{}, err
		}
	}
	if accept != nil {
		if err := accept(convert(results[2]), convert(results[3])); err != nil {
			return call.Identity{}, err
		}
	}
	return call.Identify(convert(results[1]), convert(results[2]), remote(conn)), nil
}

// about asks the server of a listener's connection who it is.
func about(client rueidis.Client, dedicated rueidis.DedicatedClient, conn net.Conn) call.Identity {
	result := dedicated.Do(context.Background(), arbitrary(client, call.AskAbout))
	if result.NonRedisError() != nil {
		return call.Identity{}
	}
	return call.Identify(driver.Reply{}, convert(result), remote(conn))
}

func arbitrary(client rueidis.Client, command driver.Command) rueidis.Completed {
	return client.B().Arbitrary(command.Words...).Build()
}

// remote is the address of a connection, which some kinds do not have.
func remote(conn net.Conn) string { return fmt.Sprint(conn.RemoteAddr()) }
