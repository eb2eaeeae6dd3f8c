// Package connect turns a URL into a driver: Parse reads the URL, and Target.Open connects.
package connect

import (
	"fmt"
	"slices"
	"strings"
)

// Target is what a URL names: a server, or several that belong together.
type Target struct {
	scheme    string
	addresses []string // host:port of each host in the URL
	// name is the name of an embedded server, or of the primary that sentinels watch.
	name               string
	username, password string
	// sentinelUsername and sentinelPassword are for the sentinels themselves.
	sentinelUsername, sentinelPassword string
	database                           int
}

// remotes are the schemes of servers that are reached over the network. Any other scheme is
// that of an embedded server.
var remotes = map[string]remote{
	"redis":           {port: "6379"},
	"rediss":          {port: "6379", encrypted: true},
	"redis+sentinel":  {port: "26379", many: true},
	"rediss+sentinel": {port: "26379", many: true, encrypted: true},
	"redis+cluster":   {port: "6379", many: true},
	"rediss+cluster":  {port: "6379", many: true, encrypted: true},
}

// remote is what distinguishes one such scheme from another.
type remote struct {
	port      string // the default port
	many      bool   // several hosts are allowed
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
	if t.database != 0 {
		text += fmt.Sprintf("/%d", t.database)
	}
	return text
}

// embedded says that the target is a server in this process.
func (t Target) embedded() bool {
	_, known := remotes[t.scheme]
	return !known
}

// Database is the number of the database.
func (t Target) Database() int { return t.database }

// Identity tells servers apart. It is host and port, without scheme, user and database; several
// hosts are sorted. It is empty for an embedded server without a name, which nobody shares.
func (t Target) Identity() string {
	switch {
	case t.embedded() && t.name == "":
		return ""
	case t.embedded():
		return t.String()
	}
	addresses := strings.Split(strings.ToLower(strings.Join(t.addresses, ",")), ",")
	slices.Sort(addresses)
	text := strings.Join(slices.Compact(addresses), ",")
	if t.name != "" {
		text += "/" + t.name
	}
	return text
}
