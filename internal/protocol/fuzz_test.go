package protocol_test

import (
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/protocol"
)

// FuzzFields: what is read as a field or a record is written as it was.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{
		"00000000-0000-4000-8000-000000000000:7", "a:b:-3", ":1", "x:01", "x:+1", "x:9223372036854775808", "uuid:7:write", ":write",
		"uuid:7 job with spaces", " ", "exclusive 1 30000 0", "read 65536 9300000000000 9223372036854775807", "read 01 1 1", "write 1 1 1", "rlt1.AAAA",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if client, number, ok := protocol.ParseOwner(text); ok && protocol.Owner(client, number) != text {
			t.Errorf("%q is read as %q and %d", text, client, number)
		}
		owner, write := protocol.ParseField(text)
		if write && protocol.WriterField(owner) != text || !write && owner != text {
			t.Errorf("%q is read as %q, writing: %v", text, owner, write)
		}
		if field, lock, ok := protocol.ParseSessionField(text); ok && protocol.SessionField(field, lock) != text {
			t.Errorf("%q is read as %q and %q", text, field, lock)
		}
		if read, count, lease, until, ok := protocol.ParseSessionEntry(text); ok {
			if written := protocol.SessionEntry(read, count, lease, until); written != text {
				t.Errorf("%q is read, and then written as %q", text, written)
			}
		}
		ticket := protocol.Ticket{Kind: "read", Name: "job", Owner: strings.ReplaceAll(text, "\x00", "") + "7", Token: 1 << 53, Lease: 1}
		if got, err := protocol.ParseTicket(ticket.String()); err != nil || got != ticket {
			t.Errorf("%+v is read as %+v, %v", ticket, got, err)
		}
		if got, err := protocol.ParseTicket(text); err == nil && got.String() != text {
			t.Errorf("%q is read, and then written as %q", text, got)
		}
	})
}
