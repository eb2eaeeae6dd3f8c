package fence

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strconv"
)

// stamp is the first line of a guarded object:
//
//	redlatch-fence 33 RUDEUNUJ6UOZIR34IVEDC2VKLN
//
// It has the token of the writer and a random text, which no other write has.
type stamp struct {
	token int64
	write string
}

// newStamp returns the stamp of a new write.
func newStamp(token int64) stamp { return stamp{token: token, write: rand.Text()} }

// stampWord is the first word of every guarded object.
const stampWord = "redlatch-fence"

// before returns the guarded object with a value.
func (s stamp) before(value []byte) []byte {
	line := stampWord + " " + strconv.FormatInt(s.token, 10) + " " + s.write + "\n"
	return append([]byte(line), value...)
}

// parseStamp splits a guarded object into its stamp and its value.
func parseStamp(body []byte) (stamp, []byte, error) {
	line, value, _ := bytes.Cut(body, []byte("\n"))
	var s stamp
	_, err := fmt.Sscanf(string(line[:min(len(line), 100)]), stampWord+" %d %s", &s.token, &s.write)
	if err == nil && s.token > 0 && bytes.HasPrefix(body, s.before(nil)) {
		return s, value, nil
	}
	return stamp{}, nil, fmt.Errorf("the object was not written through the guard: it does not begin with %q and a token", stampWord)
}
