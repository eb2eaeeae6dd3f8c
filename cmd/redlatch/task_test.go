package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	err = task.conclude(client, hold, supervise.End{Left: []int{12, 34}})
	var exit *exitError
	if !errors.As(err, &exit) || exit.code != exitLost || !strings.Contains(err.Error(), "[12 34]") {
		t.Errorf("%v", err)
	}
	closeClient(client)
	if left := server.PTTL(t, "job"); left <= 0 {
		t.Errorf("the lock has %v left", left)
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
	s := server{flag: "redis://flag"}
	t.Setenv(serverVariable, "redis://environment")
	if got, _ := s.url(); got != "redis://flag" {
		t.Error(got)
	}
	s.flag, s.file = "", filepath.Join(t.TempDir(), "url")
	if got, err := s.url(); err == nil {
		t.Errorf("without the file it is %q", got)
	}
	if err := os.WriteFile(s.file, []byte("redis://file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := s.url(); got != "redis://file" {
		t.Error(got, err)
	}
	s.file = ""
	if got, _ := s.url(); got != "redis://environment" {
		t.Error(got)
	}
	os.Unsetenv(serverVariable)
	if got, _ := s.url(); got != "redis://127.0.0.1:6379" {
		t.Error(got)
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
