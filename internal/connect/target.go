// Package connect turns a URL into a driver: Parse reads the URL, and Target.Open connects.
package connect

import (
	"fmt"
	"slices"
	"strings"
)

// Target is what a URL names: a server, or several that belong together.
type Target struct {
	scheme string
	// addresses are host:port of each host in the URL, or the path of a Unix socket.
	addresses []string
	// name is the name of an embedded server, or of the primary that sentinels watch.
	name               string
	username, password string
	// sentinelUsername and sentinelPassword are for the sentinels themselves.
	sentinelUsername, sentinelPassword string
	database                           int
}

// remotes are the schemes of servers that are processes of their own. Any other scheme is that
// of an embedded server.
var remotes = map[string]remote{
	"redis":           {port: "6379"},
	"rediss":          {port: "6379", encrypted: true},
	"redis+sentinel":  {port: "26379", many: true},
	"rediss+sentinel": {port: "26379", many: true, encrypted: true},
	"redis+cluster":   {port: "6379", many: true},
	"rediss+cluster":  {port: "6379", many: true, encrypted: true},
	"unix":            {socket: true},
}

// remote is what distinguishes one such scheme from another.
type remote struct {
	port      string // the default port
	many      bool   // several hosts are allowed
	socket    bool   // a path stands in the place of hosts
	encrypted bool
}

// String returns the URL without its secrets.
func (t Target) String() string {
	text := t.scheme + "://" + strings.Join(t.addresses, ",")
	switch {
	case t.embedded():
		text += t.name
	case t.name != "":
		text += "/" + t.name
	}
	switch {
	case t.database == 0:
	case t.socket():
		text += fmt.Sprintf("?db=%d", t.database)
	default:
		text += fmt.Sprintf("/%d", t.database)
	}
	return text
}

// embedded says that the target is a server in this process.
func (t Target) embedded() bool {
	_, known := remotes[t.scheme]
	return !known
}

// socket says that the target is reached through a Unix socket.
func (t Target) socket() bool { return remotes[t.scheme].socket }

// Database is the number of the database.
func (t Target) Database() int { return t.database }

// Identity tells servers apart. It is host and port, without scheme, user and database; several
// hosts are sorted. Of a Unix socket it is the path. It is empty for an embedded server without
// a name, which nobody shares.
func (t Target) Identity() string {
	switch {
	case t.embedded() && t.name == "":
		return ""
	case t.embedded():
		return t.String()
	case t.socket():
		return t.addresses[0]
	}
	addresses := strings.Split(strings.ToLower(strings.Join(t.addresses, ",")), ",")
	slices.Sort(addresses)
	text := strings.Join(slices.Compact(addresses), ",")
	if t.name != "" {
		text += "/" + t.name
	}
	return text
}

// Username is the user that clients log in as, "" for the default user.
func (t Target) Username() string { return t.username }
