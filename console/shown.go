package console

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Anybody may have written what is in Redis. The page gets names as protocol.Show writes them, and
// refers to a lock or an owner by a digest of its name, which is short and valid text.

// idOf is the digest of a name: 128 bits, so nobody finds two names with the same.
func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// party is an owner as the page gets it.
type party struct {
	Key    string `json:"key"`    // the digest of its name
	Owner  string `json:"owner"`  // its name, to be read
	Client string `json:"client"` // the digest of its process
	Name   string `json:"name,omitempty"`
	Addr   string `json:"addr,omitempty"`
}

func newParty(owner string) party {
	client, _, _ := strings.Cut(owner, ":")
	return party{Key: idOf(owner), Owner: protocol.Show(owner), Client: idOf(client)}
}

func (p *party) setProcess(process *inspect.Process) {
	if process != nil {
		p.Name, p.Addr = shownName(process.Name), shownName(process.Addr)
	}
}

// shownName is a name to be read, nothing if there is none.
func shownName(name string) string {
	if name == "" {
		return ""
	}
	return protocol.Show(name)
}

// shownMax is how many bytes of a sentence are shown.
const shownMax = 400

// shownText is a sentence to be read.
func shownText(text string) string {
	text = protocol.Line(text)
	if len(text) <= shownMax {
		return text
	}
	return strings.ToValidUTF8(text[:shownMax], "") + "…"
}
