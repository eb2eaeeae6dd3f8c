package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// What a command is told of the lock that it runs under.
const (
	lockVariable     = "REDLATCH_LOCK"
	ownerVariable    = "REDLATCH_OWNER"
	deadlineVariable = "REDLATCH_DEADLINE"
	tokenVariable    = "REDLATCH_TOKEN"
	// holdsVariable has this lock and all those around it, for a redlatch below.
	holdsVariable = "REDLATCH_HOLDS"
)

// handed are the holds that the commands around this process handed down, the
// outermost first.
type handed []handedHold

type handedHold struct {
	Lock  string `json:"lock"`
	Owner string `json:"owner"`
	Token int64  `json:"token,omitempty"`
}

// handedDown reads the environment.
func handedDown() (handed, error) {
	var h handed
	if text := os.Getenv(holdsVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &h); err != nil {
			return nil, exit(exitUsage, "%s is not as redlatch sets it: %w", holdsVariable, err)
		}
	}
	return h, nil
}

// find returns the hold under which this process runs already, or nil. Redis has the
// last word: what the environment tells may be long over.
func (h handed) find(ctx context.Context, client *redlatch.Client, name string) (*handedHold, time.Time, error) {
	if !slices.ContainsFunc(h, func(one handedHold) bool { return one.Lock == name }) {
		return nil, time.Time{}, nil
	}
	asked := time.Now()
	status, err := lookAt(ctx, client, name)
	if err != nil {
		return nil, time.Time{}, failed(err)
	}
	for _, one := range h {
		if _, held := status.HeldBy(one.Owner); held && one.Lock == name {
			return &one, asked.Add(trusted(status.TTL)), nil
		}
	}
	return nil, time.Time{}, nil
}

// trusted is for how long a TTL may be relied upon, by the rule of Hold.Deadline.
func trusted(ttl time.Duration) time.Duration {
	return max(ttl-ttl/100-2*time.Millisecond, 0)
}

// environment is that of a command under a hold, within those handed down.
func (h handed) environment(hold handedHold, deadline time.Time) []string {
	if !slices.Contains(h, hold) {
		h = append(slices.Clone(h), hold)
	}
	holds, err := json.Marshal(h)
	if err != nil {
		panic("redlatch: " + err.Error()) // two strings
	}
	mine := []string{
		lockVariable + "=" + hold.Lock,
		ownerVariable + "=" + hold.Owner,
		deadlineVariable + "=" + deadline.UTC().Format(time.RFC3339Nano),
		holdsVariable + "=" + string(holds),
	}
	if hold.Token > 0 {
		mine = append(mine, tokenVariable+"="+strconv.FormatInt(hold.Token, 10))
	}
	// Nothing of a lock around this one shall be taken for this one's.
	rest := slices.DeleteFunc(os.Environ(), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		return slices.Contains([]string{lockVariable, ownerVariable, deadlineVariable, tokenVariable, holdsVariable}, name)
	})
	return append(rest, mine...)
}

// errNested is what a command gets that asks for the lock it runs under.
func errNested(hold *handedHold) error {
	return exit(exitFailure, "lock %q is held by %s, under which this command runs: waiting would never end; --reentrant runs it under that hold",
		hold.Lock, protocol.Show(hold.Owner))
}
