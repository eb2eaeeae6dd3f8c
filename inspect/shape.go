package inspect

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// A key has no mark that says that it is a lock. The script refuses a hash that cannot be one. What
// it lets pass may still be data, such as a hash with one small number. So a walk also looks at the
// names of the owners.

// isLock says that what a walk has found is a lock: every owner has a name that a client of the
// protocol writes.
func isLock(found script.Inspected) bool {
	foreign := func(h script.InspectedField) bool { return !isOwner(ownerOf(found.Mode, h.Name)) }
	return found.Mode != "" && len(found.Holders) > 0 && !slices.ContainsFunc(found.Holders, foreign)
}

// ownerOf is the owner of a field.
func ownerOf(mode, field string) string {
	if mode == "exclusive" {
		return field
	}
	owner, _ := protocol.ParseField(field)
	return owner
}

// isOwner says that redlatch, Redisson or node-redisson writes such an owner: a UUID and a number, or
// two UUIDs.
func isOwner(owner string) bool { return owners.MatchString(owner) }

const (
	uuid    = `[[:xdigit:]]{8}(-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}`
	uuidLen = 36
)

var owners = regexp.MustCompile("^" + uuid + ":(-?[0-9]{1,19}|" + uuid + ")$")

// clientOf is the client of an owner, "" if the owner has none.
func clientOf(owner string) string {
	client, _, ok := protocol.ParseOwner(owner)
	if !ok {
		return ""
	}
	return client
}

// twin is the other lock that has the same keys besides the lock itself, "" if there is none.
func twin(name string) string {
	if strings.Contains(name, "{") {
		return ""
	}
	return "{" + name + "}"
}

// parseQueue returns the lock to which the key of a queue belongs.
func parseQueue(key string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(key, queuePrefix)
	name = protocol.Unbraced(rest)
	return name, ok && name != "" && protocol.FairQueue(name) == key
}

const queuePrefix = "redisson_lock_queue:"

// parseTimeout splits the timeout key of a reader into its lock, the owner and the number of the hold.
func parseTimeout(key string) (name, owner string, hold int, ok bool) {
	at := strings.LastIndex(key, timeoutInfix)
	if at < 0 {
		return "", "", 0, false
	}
	hold, err := strconv.Atoi(key[at+len(timeoutInfix):])
	front := key[:at] // {name}:UUID:number
	colon := strings.LastIndexByte(front, ':')
	if err != nil || colon < uuidLen+1 {
		return "", "", 0, false
	}
	start := colon - uuidLen
	if front[start-1] != ':' {
		start = strings.LastIndexByte(front[:colon], ':') - uuidLen // two UUIDs
	}
	if start < 2 || front[start-1] != ':' || !isOwner(front[start:]) {
		return "", "", 0, false
	}
	name, owner = protocol.Unbraced(front[:start-1]), front[start:]
	return name, owner, hold, name != "" && protocol.ReadTimeoutKey(name, owner, hold) == key
}

const timeoutInfix = ":rwlock_timeout:"
