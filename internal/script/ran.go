package script

import (
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var ranScript = load("ran")

// keepRuns is for how long it is known which times of a job were run.
const keepRuns = 7 * 24 * time.Hour

// Ran asks whether the job whose lock has that key was run for a time. With a token it notes that this is done now,
// under a hold with that token. ReadRan reads the reply.
func Ran(lock string, due time.Time, token int64) Call {
	words := []string{protocol.RunsKey(lock), strconv.FormatInt(due.UnixMilli(), 10)}
	if token > 0 {
		words = append(words, strconv.FormatInt(token, 10), millis(keepRuns))
	}
	return ranScript.call(1, words...)
}

// ReadRan reads the reply of Ran: the job was run for that time before.
func ReadRan(r driver.Reply) (bool, error) { return readFlag(ranScript, r) }
