package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/inspect/doctor"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: each setting of a real server turns its check red, and mended, green.
func TestSettings(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes")
	d := connect(t, rueidis.Options{Address: server.Addr()})
	for _, c := range []struct {
		code     string
		set      string // CONFIG SET name value; …
		severity doctor.Severity
		words    string
	}{
		{"eviction", "maxmemory 100mb; maxmemory-policy allkeys-lru", doctor.Danger, "allkeys-lru"},
		{"eviction", "maxmemory-policy volatile-ttl", doctor.Danger, "volatile-ttl"},
		{"eviction", "maxmemory 0", doctor.Note, "volatile-ttl"},
		{"eviction", "maxmemory-policy noeviction; maxmemory 100mb", doctor.OK, ""},
		{"memory", "maxmemory 100mb", doctor.OK, ""},
		{"memory", "maxmemory 100kb", doctor.Warning, "CONFIG SET maxmemory"},
		{"memory", "maxmemory 0", doctor.OK, "no limit"},
		{"persistence", "appendfsync always", doctor.OK, ""},
		{"persistence", "appendfsync everysec", doctor.Note, "last second"},
		{"persistence", "appendfsync no", doctor.Warning, "everysec"},
		{"persistence", "appendonly no", doctor.Danger, "every lock"},
		{"persistence", "save 3600 1", doctor.Warning, "snapshot"},
		{"persistence", "appendonly yes; appendfsync always", doctor.OK, ""},
		{"tcp-keepalive", "tcp-keepalive 0", doctor.Warning, ""},
		{"tcp-keepalive", "tcp-keepalive 3600", doctor.Note, ""},
		{"tcp-keepalive", "tcp-keepalive 300", doctor.OK, ""},
		{"timeout", "timeout 5", doctor.Warning, "timeout 0"},
		{"timeout", "timeout 300", doctor.Note, "PING"},
		{"timeout", "timeout 0", doctor.OK, ""},
		{"pubsub-buffer", "client-output-buffer-limit pubsub 1000 1000 1", doctor.Warning, "1000 1000 1"},
		{"pubsub-buffer", "client-output-buffer-limit pubsub 33554432 8388608 60", doctor.OK, ""},
		{"busy-scripts", "busy-reply-threshold 0", doctor.Note, ""},
		{"busy-scripts", "busy-reply-threshold 60000", doctor.Note, ""},
		{"busy-scripts", "busy-reply-threshold 5000", doctor.OK, ""},
	} {
		for one := range strings.SplitSeq(c.set, "; ") {
			name, value, _ := strings.Cut(one, " ")
			if said := server.CLI(t, "CONFIG", "SET", name, value); said != "OK" {
				t.Fatal(one, said)
			}
		}
		if c.code == "persistence" {
			redistest.Eventually(t, 20*time.Second, func() bool {
				return strings.Contains(fmt.Sprint(server.CLI(t, "INFO", "persistence")), "aof_rewrite_in_progress:0")
			}, "the file is written")
		}
		checks := doctor.Examine(t.Context(), doctor.Config{}, doctor.Target{Name: "x", Driver: d})
		want(t, checks, c.code, c.severity, c.words)
	}
	want(t, examine(t, doctor.Config{}, redistest.Start(t, "--disable-thp", "no").Addr()), "huge-pages", doctor.Note, "disable-thp yes")
	if severity, _ := found(examine(t, doctor.Config{}, server.Addr()), "huge-pages"); severity != "" {
		t.Error("huge pages of a server that disables them:", severity)
	}
}

func TestAServerThatIsNearlyFullOfClients(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxclients", "10")
	checks := examine(t, doctor.Config{}, server.Addr())
	want(t, checks, "maxclients", doctor.OK, "")
	for range 7 {
		connect(t, rueidis.Options{Address: server.Addr()})
	}
	want(t, examine(t, doctor.Config{}, server.Addr()), "maxclients", doctor.Warning, "CONFIG SET maxclients 20")
}

func TestSlowCommands(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "CONFIG", "SET", "latency-monitor-threshold", "50")
	const busy = "local t = redis.call('TIME') local from = t[1] * 1000 + t[2] / 1000 repeat t = redis.call('TIME') until t[1] * 1000 + t[2] / 1000 > from + 150"
	redistest.Must(server.Try("EVAL", busy, "0"))
	for lease, severity := range map[time.Duration]doctor.Severity{
		100 * time.Millisecond: doctor.Danger, 2 * time.Second: doctor.Warning, 30 * time.Second: doctor.Warning, time.Hour: doctor.OK,
	} {
		want(t, examine(t, doctor.Config{LeaseTime: lease}, server.Addr()), "slow-commands", severity, "")
	}
	want(t, examine(t, doctor.Config{LeaseTime: 2 * time.Second}, server.Addr()), "latency-events", doctor.Warning, "command of ")
	server.CLI(t, "CONFIG", "SET", "latency-monitor-threshold", "0") // a busy machine makes events
	server.CLI(t, "LATENCY", "RESET")
	want(t, examine(t, doctor.Config{LeaseTime: 2 * time.Second}, server.Addr()), "latency-events", "", "")
	server.CLI(t, "SLOWLOG", "RESET")
	want(t, examine(t, doctor.Config{}, server.Addr()), "slow-commands", doctor.OK, "")
}

func TestLatency(t *testing.T) {
	t.Parallel()
	want(t, examine(t, doctor.Config{}, redistest.Shared(t).Addr()), "latency", doctor.OK, "PINGs took")
	synctest.Test(t, func(t *testing.T) {
		f := told("role:master")
		f.takes = 15 * time.Millisecond
		for lease, severity := range map[time.Duration]doctor.Severity{45: doctor.Danger, 46: doctor.Warning, 450: doctor.Warning, 451: doctor.OK} {
			want(t, f.examine(t, doctor.Config{LeaseTime: lease * time.Millisecond}), "latency", severity, "15ms at most")
		}
	})
}

func TestWatchdogs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	runner := script.NewRunner(connect(t, rueidis.Options{Address: server.Addr()}), time.Second)
	seen := func(severity doctor.Severity, words string) {
		t.Helper()
		want(t, examine(t, doctor.Config{}, server.Addr()), "watchdogs", severity, words)
	}
	seen(doctor.OK, "no client is protected")
	redistest.Must(runner.Run(t.Context(), script.SessionHeartbeat("c", time.Minute)))
	seen(doctor.Warning, "redlatch watchdog")
	for i, severity := range []doctor.Severity{doctor.Note, doctor.OK} {
		redistest.Must(runner.Run(t.Context(), script.WatchdogHeartbeat(fmt.Sprint(i), 10*time.Second)))
		seen(severity, "")
	}
	server.CLI(t, "SET", protocol.Watchdogs, "text")
	seen(doctor.Unknown, "WRONGTYPE")
}

// Goal: an examination writes nothing.
func TestAnExaminationChangesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	changes := func() string {
		text := fmt.Sprint(server.CLI(t, "INFO", "persistence"))
		_, rest, _ := strings.Cut(text, "rdb_changes_since_last_save:")
		n, _, _ := strings.Cut(rest, "\r")
		return n
	}
	server.CLI(t, "SET", "x", "y")
	before := changes()
	examine(t, doctor.Config{Replicas: 2}, server.Addr())
	if after := changes(); after != before || before == "" {
		t.Errorf("the server counts %s changes, and then %s", before, after)
	}
	if keys := server.Keys(t, "*"); len(keys) != 1 {
		t.Errorf("the keys are %q", keys)
	}
}

func TestAServerThatFreezesOrIsGone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, rueidis.Options{Address: server.Addr(), CommandTimeout: time.Second})
	server.Freeze()
	began := time.Now()
	checks := doctor.Examine(t.Context(), doctor.Config{}, doctor.Target{Name: "x", Driver: d})
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
	server.Thaw()
	want(t, checks, "reachable", doctor.Danger, "does not answer")
	if len(checks) != 1 {
		t.Errorf("the checks are %v", checks)
	}
	server.Kill()
	want(t, doctor.Examine(t.Context(), doctor.Config{}, doctor.Target{Name: "x", Driver: d}), "reachable", doctor.Danger, "")
}

// Goal: a server that answers and refuses every lock is a danger, whatever its settings are.
func TestAServerThatRefusesEveryWrite(t *testing.T) {
	t.Parallel()
	t.Run("it has too few replicas", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, "--min-replicas-to-write", "1")
		if said := server.CLI(t, "SET", "x", "1"); said == "OK" {
			t.Fatal("it takes a write")
		}
		want(t, examine(t, doctor.Config{}, server.Addr()), "min-replicas", doctor.Danger, "0 of 1")
		want(t, examine(t, doctor.Config{Replicas: 1}, server.Addr()), "min-replicas", doctor.Danger, "0 of 1")
	})
	t.Run("it cannot write a snapshot", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "gone")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		server := redistest.Start(t, "--save", "3600 1", "--dir", dir)
		if err := os.Remove(dir); err != nil {
			t.Skip("the directory of a running server cannot be removed here:", err)
		}
		server.CLI(t, "BGSAVE")
		redistest.Eventually(t, 20*time.Second, func() bool {
			return server.CLI(t, "SET", "x", "1") != "OK"
		}, "it refuses writes")
		want(t, examine(t, doctor.Config{}, server.Addr()), "persistence", doctor.Danger, "stop-writes-on-bgsave-error")
	})
}
