package inspect_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: the user that docs/acl.md proposes may do everything that an inspector does, and the servers
// refuse it nothing. Method: the lines are read from that page; the servers' own lists of refusals have
// to be empty.
func TestTheInspectorOfThePageIsRefusedNothing(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/acl.md")
	must(t, text, err)
	lines := regexp.MustCompile(`(?m)^ACL SETUSER inspector .*$`).FindAllString(string(text), -1)
	if len(lines) < 8 {
		t.Fatalf("the page has %d lines for the inspector", len(lines))
	}
	one, many := redistest.Start(t), redistest.StartCluster(t, 3, 0)
	for url, servers := range map[string][]*redistest.Server{
		one.URL(): {one}, "redis+cluster://" + strings.Join(many.Addrs(), ","): many.Servers,
	} {
		for _, s := range servers {
			for _, line := range lines {
				if said := s.CLI(t, strings.Fields(line)...); said != "OK" {
					t.Fatalf("%q: %v", line, said)
				}
			}
		}
		c := open(t, url, redlatch.Config{Protect: true})
		run := func(call script.Call) {
			_, err := script.NewRunner(c.Driver(), time.Minute).Run(t.Context(), call)
			must(t, call, err)
		}
		run(script.WatchdogHeartbeat("dog", 10*time.Second))
		for name, lock := range map[string]redlatch.Lock{"m": c.Mutex("m"), "f": c.FairMutex("f"), "r": c.RWMutex("r")} {
			hold, err := lock.Lock(t.Context(), redlatch.WithNote("x"))
			must(t, hold, err)
			run(script.SessionNote(c.ID(), time.Hour, script.SessionEntry{Field: hold.Owner(), Lock: name, Count: 1, Lease: time.Minute}))
		}
		run(script.SessionTouch(c.ID(), time.Hour, "beat"))
		reader, err := c.RWMutex("shared").RLock(t.Context())
		must(t, reader, err)
		do(t, c.Driver(), "RPUSH", "redisson_lock_queue:{f}", java(1, 1))
		run(script.SessionHeartbeat(c.ID(), time.Millisecond))

		i := inspector(t, open(t, strings.Replace(url, "://", "://inspector:password@", 1), redlatch.Config{}).Driver(), fast)
		eventually(t, func() bool { l, err := i.Lock(t.Context(), "m"); return err == nil && l.Holders[0].Note == "x" }, "the note is read")
		permit, err := permitsOf(t, c, "permits", 2).Acquire(t.Context())
		must(t, permit, err)
		lookAtEverything(t, i)
		if all := walked(t, i, ""); len(all) != 4 || all["m"].Holders[0].Process == nil || all["m"].Holders[0].Protection == nil {
			t.Errorf("%+v", all)
		}
		if all := walkedPermits(t, i, ""); len(all) != 1 || all["permits"].InUse != 1 {
			t.Errorf("%+v", all)
		}
		if notices := i.Notices(); len(notices) > 0 {
			t.Error(notices)
		}
		for _, s := range servers {
			for _, entry := range s.CLI(t, "ACL", "LOG").([]any) {
				if text := fmt.Sprint(entry); !strings.Contains(text, "setinfo") { // see the page
					t.Errorf("%s refused %s", s.Addr(), text)
				}
			}
		}
	}
}

// lookAtEverything uses each method of an inspector.
func lookAtEverything(t *testing.T, i *inspect.Inspector) {
	t.Helper()
	for _, err := range i.Audit(t.Context(), "") {
		if err != nil {
			t.Error(err)
		}
	}
	for _, err := range i.Follow(t.Context(), "", 0) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for _, err := range i.Watch(ctx, "m", 0) {
		if err != nil {
			t.Error(err)
		}
	}
}
