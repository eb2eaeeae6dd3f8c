package connect

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Parse reads a URL. It does not use url.Parse, which refuses several hosts with ports. Its
// errors are of type *lockerr.ConfigError. They show no part of a password: neither the URL nor
// a port, because the password stands in the port's place if the host is missing.
func Parse(text string) (Target, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || strings.ContainsAny(scheme, ":/@") {
		return Target{}, badURL("it has no scheme; redis://host:port is the usual form")
	}
	t := Target{scheme: strings.ToLower(scheme)}
	if err := t.checkScheme(scheme); err != nil {
		return t, err
	}
	authority, rest := cutBefore(rest, "/?#")
	if strings.Contains(rest, "@") {
		return t, badURL("in a password, / ? # are written as %%2F %%3F %%23")
	}
	path, rest := cutBefore(rest, "?#")
	query, fragment := cutBefore(rest, "#")
	if t.socket() {
		if err := t.readSocket(authority, path); err != nil {
			return t, err
		}
		return t, t.readSocketQuery(query, fragment)
	}
	path = strings.TrimRight(strings.TrimPrefix(path, "/"), "/")
	if t.embedded() {
		if path != "" || strings.Contains(authority, "@") {
			return t, badURL("%s:// is followed by a name or nothing, not by a user or a path", t.scheme)
		}
		t.name = authority
	} else if err := t.readServers(authority, path); err != nil {
		return t, err
	}
	return t, t.readQuery(query, fragment)
}

// checkScheme refuses a scheme that nobody can open.
func (t Target) checkScheme(written string) error {
	switch {
	case !t.embedded() || driver.Registered(t.scheme) != nil:
		return nil
	case t.scheme == "memory":
		return badURL(`memory:// needs the embedded server: import _ "github.com/redlatch/redlatch/driver/memory"`)
	}
	return badURL("the scheme %q is none of redis, rediss, unix, memory, and the first two with +sentinel or +cluster", written)
}

// cutBefore splits text before the first of some characters.
func cutBefore(text, characters string) (before, rest string) {
	if at := strings.IndexAny(text, characters); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}

// readServers reads user, password, hosts and path.
func (t *Target) readServers(authority, path string) error {
	hosts, err := t.readUser(authority)
	if err != nil {
		return err
	}
	if err := t.readHosts(hosts); err != nil {
		return err
	}
	switch {
	case strings.HasSuffix(t.scheme, "+sentinel"):
		return t.readMaster(path)
	case strings.HasSuffix(t.scheme, "+cluster") && path != "" && path != "0":
		return badURL("a cluster has no database but 0")
	}
	return t.readDatabase(path)
}

// readUser reads user and password, and returns what follows them.
func (t *Target) readUser(authority string) (rest string, err error) {
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return authority, nil
	}
	username, password, _ := strings.Cut(authority[:at], ":")
	var bad [2]error
	t.username, bad[0] = url.PathUnescape(username)
	t.password, bad[1] = url.PathUnescape(password)
	if bad[0] != nil || bad[1] != nil {
		return "", badURL("in the user and the password, a %% is written as %%25")
	}
	return authority[at+1:], nil
}

// readHosts reads hosts separated by commas.
func (t *Target) readHosts(hosts string) error {
	kind := remotes[t.scheme]
	if !kind.many && strings.Contains(hosts, ",") {
		return badURL("%s:// is followed by one host; several are for +sentinel and +cluster", t.scheme)
	}
	for host := range strings.SplitSeq(hosts, ",") {
		address, err := addressOf(host, kind.port)
		if err != nil {
			return err
		}
		t.addresses = append(t.addresses, address)
	}
	return nil
}

// addressOf reads host[:port], where an IPv6 host stands in brackets.
func addressOf(text, port string) (string, error) {
	host := text
	if at := strings.LastIndexByte(text, ':'); at > strings.LastIndexByte(text, ']') {
		host, port = text[:at], text[at+1:]
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", badURL("the port is not a number between 1 and 65535")
	}
	bare, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		var closed bool
		if host, closed = strings.CutSuffix(bare, "]"); !closed {
			return "", badURL("the bracket of an IPv6 address is not closed")
		}
	}
	host, err := url.PathUnescape(host) // the zone of an IPv6 address begins with %25
	switch {
	case err != nil || strings.ContainsFunc(host, unfitForHost) || !bracketed && strings.Contains(host, ":"):
		return "", badURL("a host is not written as a name, an IPv4 address or an IPv6 address in brackets")
	case host == "":
		return "", badURL("it names no host")
	}
	return net.JoinHostPort(host, port), nil
}

func unfitForHost(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("[]@/", r)
}

// readMaster reads master[/database].
func (t *Target) readMaster(path string) error {
	name, database, _ := strings.Cut(path, "/")
	master, err := url.PathUnescape(name)
	if err != nil || master == "" {
		return badURL("it does not name the master that the sentinels watch over, as in %s://host/master", t.scheme)
	}
	t.name = master
	return t.readDatabase(database)
}

func (t *Target) readDatabase(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return badURL("the database %q is not a number", text)
	}
	t.database = n
	return nil
}

// readQuery reads the user and the password of the sentinels.
func (t *Target) readQuery(query, fragment string) error {
	// ParseQuery reads a plus as a space, but in a password it is a plus.
	values, err := url.ParseQuery(strings.ReplaceAll(strings.TrimPrefix(query, "?"), "+", "%2B"))
	sentinels := strings.HasSuffix(t.scheme, "+sentinel") && err == nil && fragment == ""
	if sentinels {
		t.sentinelUsername, t.sentinelPassword = values.Get("sentinel_username"), values.Get("sentinel_password")
		values.Del("sentinel_username")
		values.Del("sentinel_password")
		if len(values) == 0 {
			return nil
		}
	}
	switch {
	case values.Has("db") || values.Has("database"):
		return badURL("the database stands in the path, as in redis://host:port/3 or redis+sentinel://host:port/master/3")
	case sentinels:
		return badURL("nothing is known that could follow %q but ?sentinel_username=…&sentinel_password=…", t)
	case query != "" || fragment != "":
		return badURL("nothing is known that could follow %q", t)
	}
	return nil
}

func badURL(format string, args ...any) error {
	return &lockerr.ConfigError{Field: "url", Reason: fmt.Sprintf(format, args...)}
}
