package call

import (
	"errors"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

// The commands that Identify reads the replies of, after a PING.
var (
	AskRole  = driver.Command{Words: []string{"ROLE"}}
	AskAbout = driver.Command{Words: []string{"INFO", "server"}}
)

// ErrReplica refuses a server that is not a primary.
var ErrReplica = errors.New("the server is a replica")

// ErrOther refuses a server that is not the one of the link.
var ErrOther = errors.New("the address leads to another server now")

// Identity is which server a connection leads to. The zero value is no server.
type Identity struct {
	known   bool
	run     string // the server's run_id, which is fresh at each start; "" if it does not say
	address string // of the connection, "" if that is not known
	moves   int64
	Replica bool
}

// Identify reads the replies of a server to AskRole and AskAbout, on a connection to an address. A server
// that does not tell its role, because the user may not ask, is taken for a primary. So is every server
// of a Cluster: a replica there redirects.
func Identify(role, about driver.Reply, address string) Identity {
	i := Identity{known: true, run: field(about.Str, "run_id:"), address: address}
	i.Replica = len(role.Array) > 0 && role.Array[0].Str == "slave" && field(about.Str, "redis_mode:") != "cluster"
	return i
}

// field is what stands behind a name in a reply to INFO.
func field(about, name string) string {
	_, value, _ := strings.Cut("\n"+about, "\n"+name)
	value, _, _ = strings.Cut(value, "\n")
	return strings.TrimSpace(value)
}

// Known says that it is that of a server.
func (i Identity) Known() bool { return i.known }

// RunID is the server's run_id, "" if it does not tell, and how often Then has led to another server.
func (i Identity) RunID() (run string, moves int64) { return i.run, i.moves }

// Then is the server of the next connection.
func (i Identity) Then(next Identity) Identity {
	if next.moves = i.moves; !i.Same(next) {
		next.moves++
	}
	return next
}

// Same says that two connections lead to one server process. One that tells its run_id and one that does not
// are two.
func (i Identity) Same(other Identity) bool {
	return i.run == other.run && (i.run != "" || i.address == other.address)
}
