package single

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/rueidis"
)

// errReplica refuses a server that is not a primary.
var errReplica = errors.New("the server is a replica")

// errOther refuses a server that is not the one of the link.
var errOther = errors.New("the address leads to another server now")

// identity is which server a connection leads to.
type identity struct {
	known   bool
	run     string // the server's run_id, which is fresh at each start; "" if it does not say
	address string // of the connection
	replica bool
}

// same says that two connections lead to one server process.
func (i identity) same(other identity) bool {
	if i.run != "" && other.run != "" {
		return i.run == other.run
	}
	return i.address == other.address
}

// follows says why a link must not lead to this server, after one to the server before.
func (i identity) follows(before identity) error {
	if i.replica && before.known && !before.replica {
		return errReplica
	}
	return nil
}

// ready sends a PING, and asks who the server is. Any answer to the PING will do except one: a
// server that is loading its data would refuse every command, but only for a while. A server that
// does not tell its role, because the user may not ask, is taken for a primary. So is every server
// of a Cluster: a replica there redirects.
//
// There is no context here; the socket ends the call. After the
// first call with a context that can end, rueidis reads on a goroutine of its
// own, which is slower as long as there is only one caller.
func ready(client rueidis.Client, conn net.Conn) (identity, error) {
	b := client.B()
	results := client.DoMulti(context.Background(), b.Ping().Build(), b.Role().Build(), b.Info().Section("server").Build())
	err := results[0].Error()
	if reply, ok := rueidis.IsRedisErr(err); err != nil && (!ok || reply.IsLoading()) {
		return identity{}, err
	}
	for _, result := range results[1:] {
		if err := result.NonRedisError(); err != nil {
			return identity{}, err
		}
	}
	about, _ := results[2].ToString()
	who := identified(about, conn)
	if role, _ := results[1].ToArray(); len(role) > 0 && field(about, "redis_mode:") != "cluster" {
		name, _ := role[0].ToString()
		who.replica = name == "slave"
	}
	return who, nil
}

// identified reads the reply to INFO server.
func identified(about string, conn net.Conn) identity {
	return identity{known: true, run: field(about, "run_id:"), address: fmt.Sprint(conn.RemoteAddr())} // which may be nil
}

// field is what stands behind a name in a reply to INFO.
func field(about, name string) string {
	_, value, _ := strings.Cut("\n"+about, "\n"+name)
	value, _, _ = strings.Cut(value, "\n")
	return strings.TrimSpace(value)
}
