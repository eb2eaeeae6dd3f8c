package console

import (
	"errors"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// trouble is why Redis cannot be read, and what to do.
type trouble struct {
	Text string `json:"text"`
	Hint string `json:"hint"`
	At   int64  `json:"at"`
}

func newTrouble(err error, now time.Time) *trouble {
	text := strings.TrimPrefix(err.Error(), "redlatch: ")
	return &trouble{Text: shownText(text), Hint: hintOf(err), At: now.UnixMilli()}
}

func (t *trouble) message() message { return newMessage("trouble", t) }

// hints are what to do, by the first word of the server's answer.
var hints = map[string]string{
	"NOPERM":    "The Redis user lacks a right that the message names. docs/acl.md lists what the console needs.",
	"NOAUTH":    "Redis wants a password. Start the console with --password-file FILE.",
	"WRONGPASS": "The password or the user is wrong. Check --password-file and the URL.",
	"LOADING":   "Redis is starting and loads its data. The console waits for it.",
	"BUSY":      "A script or function keeps Redis busy. See it with SCRIPT or FUNCTION STATS.",
	"MOVED":     "This server is part of a Cluster. Use a URL that begins with redis+cluster://.",
}

// hintOf says what to do about an error.
func hintOf(err error) string {
	if answer, ok := errors.AsType[*driver.ServerError](err); ok {
		if hint := hints[answer.Code()]; hint != "" {
			return hint
		}
		return "Redis answered with an error. The console tries again."
	}
	return "Redis cannot be reached or does not answer. The console tries again. What the page shows is old until then."
}
