package script

import (
	"strings"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Clients lists the connections of the server that has a key. Each client of redlatch that uses the
// key has a connection there.
func Clients(key string) Call {
	return Call{command: driver.Command{Words: []string{"CLIENT", "LIST", "TYPE", "normal"}, Key: key}}
}

// Connection is a connection of a client.
type Connection struct {
	Name string // of the client
	Addr string // the client's end, "host:port"
}

// ReadConnections reads the reply of Clients: a connection of each client of redlatch, by their ids.
func ReadConnections(r driver.Reply) (map[string]Connection, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	found := make(map[string]Connection)
	for line := range strings.Lines(r.Str) {
		if client, name, ok := protocol.ParseConnectionName(attribute(line, "name")); ok {
			found[client] = Connection{name, attribute(line, "addr")}
		}
	}
	return found, nil
}

// ReadInfo reads the reply to INFO, or CLUSTER INFO: lines of "name:value".
func ReadInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// attribute is the value of an attribute in a line of CLIENT LIST.
func attribute(line, name string) string {
	_, rest, _ := strings.Cut(" "+line, " "+name+"=")
	value, _, _ := strings.Cut(rest, " ")
	return value
}
