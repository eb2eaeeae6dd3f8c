package protocol

import (
	"fmt"
	"strings"
)

// A client's connections have a name on the server: "redlatch:", its UUID, ":", and the name that
// Config.Name gives it. So the UUID of a holder leads to a process, by CLIENT LIST.

const (
	connectionPrefix = "redlatch:"
	uuidLen          = 36

	// MaxClientName is the longest name of a client, in bytes.
	MaxClientName = 128
)

// ConnectionName is the name of a client's connections.
func ConnectionName(client, name string) string { return connectionPrefix + client + ":" + name }

// ParseConnectionName splits the name of a connection. It reports false for a connection that no
// client of redlatch has named.
func ParseConnectionName(text string) (client, name string, ok bool) {
	rest, ok := strings.CutPrefix(text, connectionPrefix)
	if !ok || len(rest) < uuidLen+2 || rest[uuidLen] != ':' {
		return "", "", false
	}
	return rest[:uuidLen], rest[uuidLen+1:], true
}

// CheckClientName reports why name cannot name a client, or nil. The server takes no other
// characters.
func CheckClientName(name string) error {
	if len(name) > MaxClientName {
		return fmt.Errorf("%.32q… has %d bytes, more than %d", name, len(name), MaxClientName)
	}
	if i := strings.IndexFunc(name, unnamable); i >= 0 {
		return fmt.Errorf("%q has a character at byte %d that is not visible ASCII; a server takes no space, line break or other script in the name of a connection", name, i)
	}
	return nil
}

// CleanClientName puts a dash in the place of each character that a name cannot have, and cuts what
// is too long.
func CleanClientName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unnamable(r) {
			return '-'
		}
		return r
	}, name)
	return name[:min(len(name), MaxClientName)]
}

func unnamable(r rune) bool { return r < '!' || r > '~' }
