package explore

import (
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/internal/protocol"
)

// uuid is the identity of a client or a peer.
func uuid(who int) string { return fmt.Sprintf("%08d-0000-4000-8000-00000000000%d", 0, who) }

// owners are the names of all owners, and writers their fields on the write side: by client or
// peer, and by the number in the name.
var owners, writers = func() (plain, write [6][20]string) {
	for who := range plain {
		for number := range plain[who] {
			plain[who][number] = protocol.Owner(uuid(who), int64(number))
			write[who][number] = protocol.WriterField(plain[who][number])
		}
	}
	return plain, write
}()

// short writes names as a trace does.
var short = func() *strings.Replacer {
	var pairs []string
	for who := range owners {
		pairs = append(pairs, uuid(who), name(who))
	}
	return strings.NewReplacer(pairs...)
}()

func name(who int) string { return [...]string{"A", "B", "C", "D", "Java1", "Java2"}[who] }
