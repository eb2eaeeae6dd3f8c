package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
	"github.com/redlatch/redlatch/internal/redistest"
)

// A process that cannot be killed may go on working, so the lock is not given away.
func TestTheLockIsLeftToAProcessThatCannotBeKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	task := &task{name: "job"}
	task.server.flag = server.URL()
	client, hold, err := task.acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	err = task.conclude(client, hold, supervise.End{Left: []int{12, 34}}, nil)
	if exit, ok := errors.AsType[*exitError](err); !ok || exit.code != exitLost || !strings.Contains(err.Error(), "[12 34]") {
		t.Errorf("%v", err)
	}
	closeClient(client)
	if left := server.PTTL(t, "job"); left <= 0 {
		t.Errorf("the lock has %v left", left)
	}
}

// Goal: a lock that is to stay is not taken anew after it was lost, and nobody waits for it. Method: the
// loss is known when the command ends, or somebody else has the lock by then.
func TestALostLockDoesNotStay(t *testing.T) {
	t.Parallel()
	for what, known := range map[string]bool{"known": true, "held by another": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			task := &task{name: "job"}
			task.server.flag, task.atLeast, task.config.LeaseTime = server.URL(), 20*time.Second, time.Second
			client, hold, err := task.acquire(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer closeClient(client)
			server.CLI(t, "DEL", "job")
			if known {
				<-hold.Done()
			} else {
				server.CLI(t, "HSET", "job", someOwner, "1")
			}
			began := time.Now()
			var exit *exitError
			if err := task.conclude(client, hold, supervise.End{}, nil); !errors.As(err, &exit) || exit.code != exitLost {
				t.Errorf("it ends with %v", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if known && server.CLI(t, "EXISTS", "job") != int64(0) {
				t.Error("the lock was taken anew")
			}
		})
	}
}

// Goal: a lock stays for the time of --at-least also behind a command whose switch was killed, or of which processes are
// left. Method: that time is longer than the lease, and what is left of it is in Redis when redlatch ends.
func TestALockThatIsToStayStaysHoweverTheCommandEnded(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]supervise.End{"switch killed": {Why: supervise.SwitchDied}, "left": {Left: []int{12}}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			task := &task{name: "job"}
			task.server.flag, task.atLeast, task.config.LeaseTime = server.URL(), time.Minute, 5*time.Second
			client, hold, err := task.acquire(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if err := task.conclude(client, hold, end, nil); err == nil {
				t.Error("it ended well")
			}
			closeClient(client)
			if left := server.PTTL(t, "job"); left < task.atLeast-10*time.Second {
				t.Errorf("the lock has %v left", left)
			}
		})
	}
}

// A server that was restarted has lost the lock, and one that was a replica may have. Of one that does
// not say how long it runs nothing is known.
func TestHowALockWasLost(t *testing.T) {
	t.Parallel()
	const restarted, freed, either = "the server was restarted", "somebody freed it", "it was forced, or Redis lost it"
	for info, want := range map[string]string{
		"\nuptime_in_seconds:8\r\nsecond_repl_offset:-1\r\n":   restarted,
		"\nuptime_in_seconds:9\r\nsecond_repl_offset:-1\r\n":   either,
		"\nuptime_in_seconds:10\r\nsecond_repl_offset:-1\r\n":  freed,
		"\nuptime_in_seconds:10\r\nsecond_repl_offset:100\r\n": either,
		"": either,
	} {
		if got := lossOf(info, 9500*time.Millisecond); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s", info, got)
		}
	}
}

// What is told of a deadline is what a hold would say of itself.
func TestTheDeadlineThatIsHandedDownLiesBeforeTheEndInRedis(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{-1, 0, time.Millisecond, time.Second, 30 * time.Second} {
		if got := trusted(ttl); got < 0 || got > max(ttl, 0) {
			t.Errorf("of a TTL of %v, %v are trusted", ttl, got)
		}
	}
	deadline := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.FixedZone("", 3600))
	for _, one := range (inheritedHolds{}).environment(inheritedHold{Lock: "job", Owner: "c:1"}, deadline) {
		if text, found := strings.CutPrefix(one, deadlineVariable+"="); found {
			got, err := time.Parse(time.RFC3339, text)
			if err != nil || !got.Equal(deadline) || !strings.HasSuffix(text, "Z") {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

func TestTheServerIsTheFlagsOrTheEnvironmentsOrTheDefault(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte("redis://file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ flag, variable, want string }{
		{"--redis=redis://flag", "redis://environment", "redis://flag"},
		{"--redis-file=" + file, "redis://environment", "redis://file"},
		{"--quiet", "redis://environment", "redis://environment"},
		{"--quiet", "", "redis://127.0.0.1:6379"},
	} {
		t.Setenv(serverVariable, c.variable)
		var s server
		cmd := &cobra.Command{RunE: func(*cobra.Command, []string) error { return nil }}
		s.register(cmd)
		cmd.Flags().Bool("quiet", false, "")
		cmd.SetArgs([]string{c.flag})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		if got, err := s.url(); got != c.want {
			t.Errorf("with %s and %q it is %s, %v", c.flag, c.variable, got, err)
		}
	}
	s := server{file: file + ".missing"}
	if got, err := s.url(); err == nil {
		t.Errorf("without the file it is %q", got)
	}
}

// Goal: the attempts to connect do not repeat which server nobody has named.
func TestTheDefaultServerIsToldOnce(t *testing.T) {
	file := redistest.Must(os.Create(filepath.Join(t.TempDir(), "stderr")))
	defer file.Close()
	stderr := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = stderr }()
	var s server
	for range 3 {
		s.tellDefault()
	}
	text, err := os.ReadFile(file.Name())
	if err != nil || strings.Count(string(text), "redlatch: no server is named") != 1 {
		t.Errorf("it says %q, %v", text, err)
	}
}

// Who waits looks calmly, however short or long the lock has left.
func TestThePauseBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	for range 1000 {
		for _, ttl := range []time.Duration{-1, 0, time.Millisecond, 200 * time.Millisecond, time.Hour} {
			if pause := untilNext(ttl); pause < shortInterval || pause > longInterval || ttl > shortInterval && pause > ttl+time.Millisecond {
				t.Fatalf("with %v left the pause is %v", ttl, pause)
			}
		}
	}
}
