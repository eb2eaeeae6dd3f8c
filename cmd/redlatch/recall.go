package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/protocol"
)

// asker is who asks for a lock, "" if the system does not tell.
func asker() string {
	who, err := user.Current()
	host, unknown := os.Hostname()
	if err != nil || unknown != nil {
		return ""
	}
	return protocol.CleanClientName(who.Username + "@" + host)
}

// askedHolder is a holder that was asked for the lock.
type askedHolder struct {
	redlatch.Holder      // as it was seen last
	renewed         bool // since it was asked
	back            bool // it has given the lock back
}

// recall asks the holders for the lock, and waits until all of them have given it back. Still says how the lock is if
// they have not.
func (u *unlocking) recall(ctx context.Context) (still string, err error) {
	if why := u.deaf(); why != "" {
		return fmt.Sprintf("is %s; nobody was asked for it: %s", describe(u.seen), why), nil
	}
	for _, h := range u.seen.Holders {
		if u.wasAsked(h.Owner) {
			continue // a writer may read as well
		}
		held, err := u.lock().Recall(ctx, h.Owner, u.reason)
		if err != nil {
			return "", err
		}
		u.asked = append(u.asked, &askedHolder{Holder: h, back: !held})
		u.progress("asked " + shown(h.Owner, h.Name))
	}
	for p := (patience{limited: true, limit: u.wait, began: time.Now()}); ; {
		left, err := u.look(ctx)
		switch {
		case err != nil && p.again(ctx, failed(err)):
			continue
		case err != nil || left == 0:
			return "", err
		case p.over():
			return u.still(), nil
		}
		_ = pause.For(ctx, min(untilNext(u.seen.TTL)/2, p.left()))
	}
}

// ofClient is how an owner begins.
var ofClient = regexp.MustCompile(`^[[:xdigit:]]{8}(-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}:`)

// deaf says why the holders cannot be asked, "" if they can.
func (u *unlocking) deaf() string {
	if u.owner == "" && len(u.seen.Holders) < u.seen.Owners {
		return "they are more than can be named; --if-owner asks one"
	}
	for _, h := range u.seen.Holders {
		if h.TTL < 0 || !ofClient.MatchString(h.Owner) {
			return "it has no expiry, or an owner that does not begin with a UUID, so it may be somebody's data"
		}
	}
	return ""
}

func (u *unlocking) wasAsked(owner string) bool {
	return slices.ContainsFunc(u.asked, func(a *askedHolder) bool { return a.Owner == owner })
}

// progress prints what happens, for people.
func (u *unlocking) progress(text string) {
	if !u.asJSON {
		_ = u.say(text)
	}
}

// look looks at the lock, and returns how many of those that were asked hold it.
func (u *unlocking) look(ctx context.Context) (left int, err error) {
	now, err := readStatusOf(ctx, u.client, u.name, u.owner)
	if err != nil {
		return 0, err
	}
	for _, a := range u.asked {
		h, err := u.holderOf(ctx, now, a.Owner)
		if err != nil {
			return 0, err
		}
		if !a.back && a.follow(h) {
			switch {
			case !a.back:
				u.progress("told " + shown(a.Owner, a.Name))
			case len(u.asked) > 1:
				u.progress("given back by " + shown(a.Owner, a.Name))
			}
		}
		if !a.back {
			left++
		}
	}
	if left > 0 {
		u.seen = now
	}
	return left, nil
}

// holderOf is an owner that holds the lock, or nil. Of very many holders a status names a part, so Redis is asked about
// this one.
func (u *unlocking) holderOf(ctx context.Context, status redlatch.Status, owner string) (h *redlatch.Holder, err error) {
	if h = holderIn(status, owner); h == nil && len(status.Holders) < status.Owners && u.owner == "" {
		status, err = readStatusOf(ctx, u.client, u.name, owner)
		h = holderIn(status, owner)
	}
	return h, err
}

// follow takes note of how a holder is now, and says whether it has been told or has given the lock back.
func (a *askedHolder) follow(h *redlatch.Holder) (news bool) {
	if a.back = h == nil; a.back {
		return true
	}
	told := a.Told
	a.renewed = a.renewed || h.TTL > a.TTL
	a.Holder = *h
	a.Told = told || h.Told
	return a.Told && !told
}

// still says why the lock is still held.
func (u *unlocking) still() string {
	const most = 3
	var all []string
	for _, a := range u.asked {
		if !a.back {
			all = append(all, shown(a.Owner, a.Name)+" "+a.why())
		}
	}
	if more := len(all) - most; more > 0 {
		all = append(all[:most], fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("is still %s: %s", describe(u.seen), strings.Join(all, "; "))
}

// why says why a holder has not given the lock back, as far as that is known.
func (a *askedHolder) why() string {
	switch {
	case a.Told:
		return "knows of the request, and has not given it back"
	case a.renewed:
		return "was not told, and has renewed its lease: it is another implementation, or an older version"
	case a.Name == "":
		return "was not told: no connection of its process is known, as of one that is gone, or of another implementation"
	}
	return "was not told, and has not renewed its lease: it is paused, its lease is fixed, or the wait was too short"
}
