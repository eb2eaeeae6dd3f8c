package protocol

import (
	"strconv"
	"strings"
)

// Owner writes an owner as it stands in Redis: the client's UUID and a number.
// Redisson puts the id of a Java thread there.
func Owner(client string, number int64) string {
	// One allocation: this is on the path of every acquisition.
	var digits [20]byte
	n := strconv.AppendInt(digits[:0], number, 10)
	var b strings.Builder
	b.Grow(len(client) + 1 + len(n))
	b.WriteString(client)
	b.WriteByte(':')
	b.Write(n)
	return b.String()
}

// RestingOwner is the name under which a lock stays for the rest of its minimum time, when its owner
// has released it. No owner has a number below zero.
func RestingOwner(owner string) string {
	client, number, _ := ParseOwner(owner)
	return Owner(client, -number)
}

// writerSuffix marks the field of an owner on the write side of a read-write lock.
const writerSuffix = ":write"

// WriterField is the field of an owner on the write side of a read-write lock.
func WriterField(owner string) string { return owner + writerSuffix }

// ParseField splits a field of a read-write lock into its owner and its side.
func ParseField(field string) (owner string, write bool) {
	return strings.CutSuffix(field, writerSuffix)
}

// ParseOwner splits an owner into its client and its number. It reports false for a text that no
// client of this protocol writes.
func ParseOwner(owner string) (client string, number int64, ok bool) {
	i := strings.LastIndexByte(owner, ':')
	if i <= 0 {
		return "", 0, false
	}
	digits := owner[i+1:]
	number, err := strconv.ParseInt(digits, 10, 64)
	// Only the usual form: no plus sign, no leading zero.
	return owner[:i], number, err == nil && strconv.FormatInt(number, 10) == digits
}
