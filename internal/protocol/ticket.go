package protocol

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strconv"
	"strings"
)

// Ticket is what another process needs to know of a hold to take it over.
type Ticket struct {
	Kind  string // of the lock
	Name  string // of the lock, without its prefix
	Owner string // as it stands in Redis
	Token int64  // 0 if the hold has none
	Lease int64  // in milliseconds
	Note  string // of the hold, "" if it has none
}

// TicketPrefix begins each ticket.
const TicketPrefix = "rlt1."

const (
	ticketGap = "\x00" // between its parts, of which no name has it

	longestLease = 10 * 365 * 24 * 3600 * 1000 // that a client takes, in milliseconds
)

// String is the ticket as it is handed over: printable, without a blank, and no word for a shell to change.
func (t Ticket) String() string {
	text := strings.Join([]string{t.Kind, t.Owner, strconv.FormatInt(t.Token, 10), strconv.FormatInt(t.Lease, 10), t.Note, t.Name}, ticketGap)
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text)))
	return TicketPrefix + base64.RawURLEncoding.EncodeToString(append(sum, text...))
}

var (
	errNoTicket  = errors.New("it does not begin as a ticket does, or another version of redlatch made it")
	errCutTicket = errors.New("it was cut or changed on its way")
)

// ParseTicket reads a ticket. The error does not contain it.
func ParseTicket(text string) (t Ticket, err error) {
	coded, ok := strings.CutPrefix(text, TicketPrefix)
	if !ok {
		return t, errNoTicket
	}
	raw, _ := base64.RawURLEncoding.DecodeString(coded)
	parts := strings.Split(string(raw[min(4, len(raw)):]), ticketGap)
	if len(parts) != 6 {
		return t, errCutTicket
	}
	t = Ticket{Kind: parts[0], Owner: parts[1], Note: parts[4], Name: parts[5]}
	t.Token, _ = strconv.ParseInt(parts[2], 10, 64)
	t.Lease, _ = strconv.ParseInt(parts[3], 10, 64)
	switch {
	case t.String() != text:
		return t, errCutTicket
	case t.Owner == "" || t.Token < 0 || t.Lease < 1 || t.Lease > longestLease:
		return t, errNoTicket
	}
	return t, nil
}
