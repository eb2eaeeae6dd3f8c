package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
)

// unlockRequest names a lock and the owner from which it is to be taken, by their digests. The page
// has shown both. With Ask the owner is asked for it, and nothing is taken.
type unlockRequest struct {
	Lock   string `json:"lock"`
	Owner  string `json:"owner"`
	Ask    bool   `json:"ask"`
	Reason string `json:"reason"`
}

const (
	changedText = "It has another owner by now, or is free. It was left alone."
	unreadText  = "This console has not read the lock yet. Nothing was changed. Try again in a moment."
)

// unlock takes a lock from the owner that the viewer was shown. Redis compares: the script frees the
// lock only if that owner holds it.
func (c *Console) unlock(w http.ResponseWriter, r *http.Request) {
	var asked unlockRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		refuse(w, http.StatusBadRequest, "the request names no lock and owner")
		return
	}
	c.unlocking.Lock() // so that a repeated request finds what the first has done
	defer c.unlocking.Unlock()
	if r.Context().Err() != nil {
		return // nobody waits for it any more
	}
	c.feed.mu.Lock()
	lock := c.feed.table.find(asked.Lock)
	read := c.feed.table.Walked
	c.feed.mu.Unlock()
	owner, held := heldBy(lock, asked.Owner)
	var done bool
	var err error
	if held {
		done, err = c.free(r, lock, owner, asked)
	}
	switch {
	case err != nil && errors.Is(err, redlatch.ErrUnknownOutcome):
		refuse(w, http.StatusBadGateway, "Whether it was done is unknown: "+reasonOf(err))
	case err != nil:
		refuse(w, http.StatusBadGateway, "The lock was left alone: "+reasonOf(err))
	case done, c.feed.hasForced(asked):
		answer(w, http.StatusOK, map[string]bool{"freed": !asked.Ask})
	case !held && !read:
		refuse(w, http.StatusServiceUnavailable, unreadText)
	default:
		refuse(w, http.StatusConflict, changedText)
	}
}

func reasonOf(err error) string {
	return shownText(strings.TrimPrefix(err.Error(), "redlatch: "))
}

// heldBy finds an owner by its digest.
func heldBy(lock inspect.Lock, key string) (string, bool) {
	for _, h := range lock.Holders {
		if idOf(h.Owner) == key {
			return h.Owner, true
		}
	}
	return "", false
}

// unlockWithin bounds one attempt.
const unlockWithin = 5 * time.Second

// free takes a lock from an owner, or asks the owner for it, and says so in the log and the history. It does not
// end with the request: Redis may have done it by then.
func (c *Console) free(r *http.Request, lock inspect.Lock, owner string, asked unlockRequest) (done bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), unlockWithin)
	defer cancel()
	if asked.Ask {
		done, err = c.forceable(lock).Recall(ctx, owner, asked.Reason)
	} else {
		done, err = c.forceable(lock).ForceUnlockIf(ctx, owner)
	}
	log := c.options.Logger.With("lock", protocol.Show(lock.Name), "owner", protocol.Show(owner), "viewer", r.RemoteAddr)
	switch {
	case err != nil:
		log.Warn("console: taking a lock away, or asking for it, failed", "reason", protocol.Line(err.Error()))
	case done && asked.Ask:
		log.Info("console: a holder was asked for its lock", "reason", protocol.Line(asked.Reason))
	case done:
		log.Info("console: a lock was taken away")
		c.feed.note(inspect.Event{
			At: time.Now(), Lock: lock.Name, Kind: inspect.EventForced, Owner: owner,
			Text: fmt.Sprintf("taken away from %s on this console", protocol.Show(owner)),
		})
	}
	return done, err
}

// forceable is the lock by its kind, on which depends which script takes it away.
func (c *Console) forceable(lock inspect.Lock) interface {
	ForceUnlockIf(ctx context.Context, owner string) (bool, error)
	Recall(ctx context.Context, owner, reason string) (bool, error)
} {
	switch {
	case lock.Kind == inspect.KindPermits:
		return c.options.Unlock.PermitSemaphore(lock.Name)
	case lock.Kind == inspect.KindReadWrite || lock.Mode == redlatch.Mode("read") || lock.Mode == redlatch.Mode("write"):
		return c.options.Unlock.RWMutex(lock.Name)
	case lock.Kind == inspect.KindFair || len(lock.Queue) > 0:
		return c.options.Unlock.FairMutex(lock.Name) // tells the next in the queue
	}
	return c.options.Unlock.Mutex(lock.Name)
}
