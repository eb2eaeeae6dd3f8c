package script_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// How the tables of tests write what a script replies.

// label is what a header calls a reply.
func label(call script.Call, r driver.Reply) string {
	name := call.Script()
	var refused *driver.ServerError
	switch {
	case errors.As(r.Err, &refused):
		return "error " + refused.Code()
	case name == "status" && len(r.Array) == 2:
		return freeReply
	case name == "status":
		return statusReply
	case name == "renew" && len(r.Array) == 1:
		return fmt.Sprint(r.Array[0].Int)
	case len(r.Array) == 2:
		return "{ttl, holder}"
	case name == "move" && r.Int > 0:
		return "n > 0"
	case name == "release" && r.Int >= 0:
		return "n >= 0"
	}
	return fmt.Sprint(r.Int)
}

// read is what the Go side makes of a reply.
func read(call script.Call, r driver.Reply) string {
	var text string
	var err error
	switch call.Script() {
	case "acquire":
		text, err = readAcquired(r)
	case "release", "minhold":
		var got script.Released
		got, err = script.ReadReleased(r)
		switch {
		case got.PublishDenied:
			text = "freed, publish denied"
		case got.Held && !got.Freed:
			text = "holds remain"
		case got.Held:
			text = fmt.Sprintf("freed, told %d", got.Told)
		default:
			text = "not held"
		}
	case "renew":
		var kept []script.Renewed
		kept, err = script.ReadRenewed(r, 1)
		text = "gone"
		if err == nil && kept[0].Held {
			text = "kept"
		}
	case "move":
		var moved time.Duration
		moved, err = script.ReadMoved(r)
		text = "not held"
		if moved > 0 {
			text = "moved"
		}
	case "force":
		var was bool
		was, err = script.ReadForced(r)
		text = "was free"
		if was {
			text = "was held"
		}
	case "status":
		text, err = readStatus(r)
	}
	if err != nil {
		return "error"
	}
	return text
}

func readAcquired(r driver.Reply) (string, error) {
	got, err := script.ReadAcquired(r)
	switch {
	case err != nil:
		return "", err
	case got.Granted && got.Gone:
		return "granted and gone", nil
	case got.Granted:
		return "granted", nil
	case got.Gone:
		return "gone", nil
	}
	return "held by " + got.Holder + " for " + left(got.TTL), nil
}

func readStatus(r driver.Reply) (string, error) {
	got, err := (script.Mutex{}).ReadStatus(r)
	if err != nil {
		return "", err
	}
	text := "free"
	if len(got.Holders) > 0 {
		var fields []string
		for _, f := range got.Holders {
			fields = append(fields, f.Name+"="+f.Count)
		}
		slices.Sort(fields)
		text = strings.Join(fields, " ") + " for " + left(got.TTL)
	} else if got.TTL != -2*time.Millisecond {
		text = fmt.Sprintf("free with the TTL %v", got.TTL)
	}
	return fmt.Sprintf("%s, token %d", text, got.Token), nil
}

// left writes the class of a TTL.
func left(ttl time.Duration) string {
	switch {
	case ttl < 0:
		return "ever"
	case ttl > old-slack && ttl <= old:
		return old.String()
	}
	return ttl.String()
}
