package connect

import (
	"context"
	"net"
	"net/url"
	"strings"
)

// maxSocket is for how long a path the address of a socket has room on Linux. Others have less.
const maxSocket = 107

// readSocket reads user, password and the path of a Unix socket.
func (t *Target) readSocket(authority, path string) error {
	host, err := t.readUser(authority)
	if err != nil {
		return err
	}
	name, err := url.PathUnescape(path)
	switch {
	case host != "":
		return badURL("unix:// is followed by an absolute path, as in unix:///run/redis.sock")
	case err != nil:
		return badURL("in a path, a %% is written as %%25")
	case strings.Trim(name, "/") == "" || strings.ContainsRune(name, 0):
		return badURL("it names no socket, as unix:///run/redis.sock does")
	case len(name) > maxSocket:
		return badURL("the path of its socket is longer than the %d bytes that a system takes", maxSocket)
	}
	t.addresses = []string{name}
	return nil
}

// readSocketQuery reads the database, which has no place in the path of a socket.
func (t *Target) readSocketQuery(query, fragment string) error {
	values, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
	database := values.Get("db")
	if err != nil || fragment != "" || len(values) > 1 || len(values) == 1 && len(values["db"]) != 1 {
		return badURL("nothing is known that could follow %q but ?db=…", t)
	}
	return t.readDatabase(database)
}

// dialSocket connects to the Unix socket of a path. Only ctx bounds it.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", path)
}
