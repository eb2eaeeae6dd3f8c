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

// inheritedHolds are the holds of the redlatch commands around this process, the outermost
// first. They come down in the environment.
type inheritedHolds []inheritedHold

type inheritedHold struct {
	Lock  string `json:"lock"`
	Owner string `json:"owner"`
	Token int64  `json:"token,omitempty"`
}

// readInherited reads the environment.
func readInherited() (inheritedHolds, error) {
	var h inheritedHolds
	if text := os.Getenv(holdsVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &h); err != nil {
			return nil, exit(exitUsage, "%s is not as redlatch sets it, so unset it: %w", holdsVariable, err)
		}
	}
	return h, nil
}

// outerHold is the hold of a lock under which this process runs already, as Redis knows it.
type outerHold struct {
	inheritedHold
	deadline time.Time
	reads    bool // only: others may read as well
}

// find returns the hold under which this process runs already, or nil. Redis has the
// last word: what the environment tells may be long over.
func (h inheritedHolds) find(ctx context.Context, client *redlatch.Client, name string) (*outerHold, error) {
	for _, one := range h {
		if one.Lock != name {
			continue
		}
		asked := time.Now()
		status, err := readStatusOf(ctx, client, name, one.Owner)
		if err != nil {
			return nil, failed(err)
		}
		if h := holderIn(status, one.Owner); h != nil {
			return &outerHold{one, asked.Add(trusted(h.TTL)), status.Mode != redlatch.ModeExclusive && !h.Write}, nil
		}
	}
	return nil, nil
}

// ofHold are the flags of run that promise how long its lock is held, or that it outlasts a pause.
var ofHold = []string{"lease", "max-hold", "at-least", "protect"}

// refuse refuses a demand of the command line on which the command may rely, and which the outer hold does not meet.
func (o *outerHold) refuse(demanded []string) error {
	for _, flag := range demanded {
		lacks := ""
		switch {
		case o.reads && (flag == "exclusive" || flag == "fair"):
			lacks = "which reads only"
		case o.Token == 0 && flag == "fencing":
			lacks = "which has no token"
		case slices.Contains(ofHold, flag):
			lacks = "under which this command runs"
		default:
			continue
		}
		return exit(exitUsage, "--%s: lock %q is held by %s, %s, and --reentrant changes nothing of its hold", flag, o.Lock, protocol.Show(o.Owner), lacks)
	}
	return nil
}

// all reports that this process runs under all permits of a semaphore, as Redis knows them.
func (h inheritedHolds) all(ctx context.Context, client *redlatch.Client, name string, k *kind) error {
	permits := k.permits
	var own []string
	for _, one := range h {
		if one.Lock == name {
			own = append(own, one.Owner)
		}
	}
	if len(own) < permits {
		return nil
	}
	c, err := counter(ctx, client, name)
	if err != nil {
		return failed(err)
	}
	for _, p := range c.Permits {
		if slices.Contains(own, p.ID) {
			permits--
		}
	}
	if permits > 0 {
		return nil
	}
	return exit(exitFailure, "semaphore %q: this command runs under all permits: waiting for one more would never end", name)
}

// trusted is for how long a TTL may be relied upon, by the rule of Hold.Deadline.
func trusted(ttl time.Duration) time.Duration {
	return max(ttl-ttl/100-2*time.Millisecond, 0)
}

// environment is that of a command under a hold, within those inherited.
func (h inheritedHolds) environment(hold inheritedHold, deadline time.Time) []string {
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
	// The variables of a lock around this one are left out, and the ticket, which is used up.
	rest := slices.DeleteFunc(os.Environ(), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		return slices.Contains([]string{lockVariable, ownerVariable, deadlineVariable, tokenVariable, holdsVariable, ticketVariable}, name)
	})
	return append(rest, mine...)
}

// errNested is what a command gets that asks for the lock it runs under.
func errNested(hold *outerHold) error {
	return exit(exitFailure, "lock %q is held by %s, under which this command runs: waiting would never end; --reentrant runs it under that hold",
		hold.Lock, protocol.Show(hold.Owner))
}
