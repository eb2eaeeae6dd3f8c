package inspect_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: figures for docs/inspect.md: what a reading of all locks costs a server with very many other
// keys. Method: make inspect-scale names their number; 5,000 locks lie among them. The server says how
// many commands it got and how long the longest took. Another client measures how long it waits.
func TestScale(t *testing.T) {
	keys := os.Getenv("REDLATCH_SCALE")
	if keys == "" {
		t.Skip("make inspect-scale runs it")
	}
	s := redistest.Start(t, "--enable-debug-command", "local", "--maxmemory", "0")
	d := connectTo(t, s)
	const locks = 5000
	populate(t, d, keys, locks)
	for _, cfg := range []inspect.Config{{}, {Rate: 10_000}, {Rate: 1_000_000}} {
		measure(t, s, d, cfg, locks)
	}
}

// populate makes keys that are no locks, and locks of three kinds.
func populate(t *testing.T, d driver.Driver, keys string, locks int) {
	t.Helper()
	reply := d.DedicatedPipeline(t.Context(), driver.Command{Words: []string{"DEBUG", "POPULATE", keys, "key", "8"}})[0]
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	for n := range locks {
		name := "lock:" + strconv.Itoa(n)
		switch n % 5 {
		case 0:
			do(t, d, "HSET", name, "mode", "read", java(1, n), "1", java(2, n), "1")
			do(t, d, "SET", "{"+name+"}:"+java(1, n)+":rwlock_timeout:1", "1", "PX", "3600000")
			do(t, d, "SET", "{"+name+"}:"+java(2, n)+":rwlock_timeout:1", "1", "PX", "3600000")
		case 1:
			do(t, d, "RPUSH", "redisson_lock_queue:{"+name+"}", java(2, n), java(3, n))
			do(t, d, "ZADD", "redisson_lock_timeout:{"+name+"}", "99999999999999", java(2, n), "99999999999999", java(3, n))
			fallthrough
		default:
			do(t, d, "HSET", name, java(1, n), "1")
		}
		do(t, d, "PEXPIRE", name, "3600000")
	}
}

// measure reads all locks once.
func measure(t *testing.T, s *redistest.Server, d driver.Driver, cfg inspect.Config, locks int) {
	t.Helper()
	for _, words := range [][]string{{"CONFIG", "RESETSTAT"}, {"CONFIG", "SET", "slowlog-log-slower-than", "0"}, {"CONFIG", "SET", "slowlog-max-len", "100000"}, {"SLOWLOG", "RESET"}} {
		s.CLI(t, words...)
	}
	own := connectTo(t, s)
	stop := make(chan struct{})
	var waits []time.Duration
	var pinging sync.WaitGroup
	pinging.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				began := time.Now()
				d.Do(t.Context(), driver.Command{Words: []string{"PING"}})
				waits = append(waits, time.Since(began))
			}
		}
	})
	began, found := time.Now(), 0
	for l, err := range inspector(t, own, cfg).Locks(t.Context(), "") {
		if err != nil || codes(l) != "" {
			t.Fatal(l, err)
		}
		found++
	}
	took := time.Since(began)
	close(stop)
	pinging.Wait()
	if found != locks {
		t.Errorf("found %d locks, want %d", found, locks)
	}
	slices.Sort(waits)
	calls, busy := commandsOf(s.CLI(t, "INFO", "commandstats").(string))
	slow := slowOf(s.CLI(t, "SLOWLOG", "GET", "-1").([]any))
	t.Logf("rate %d, step %d: %d locks in %v; %d commands, %.0f a second; server busy %.1f%%; SCAN p50 %v, p99 %v, max %v; EVALSHA max %v; another client waited p50 %v, p99 %v, max %v",
		cfg.Rate, cfg.Step, found, took.Round(10*time.Millisecond), calls, float64(calls)/took.Seconds(), 100*busy.Seconds()/took.Seconds(),
		quantile(slow["SCAN"], 50), quantile(slow["SCAN"], 99), quantile(slow["SCAN"], 100), quantile(slow["EVALSHA"], 100),
		quantile(waits, 50), quantile(waits, 99), quantile(waits, 100))
}

// quantile is the time that so many percent of sorted times are within.
func quantile(all []time.Duration, percent int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[(len(all)-1)*percent/100]
}

// commandsOf adds up the commands of an inspector, and the time that the server spent on them.
func commandsOf(stats string) (calls int, busy time.Duration) {
	for line := range strings.Lines(stats) {
		var n, usec int
		name, rest, _ := strings.Cut(line, ":")
		if _, err := fmt.Sscanf(rest, "calls=%d,usec=%d,", &n, &usec); err != nil {
			continue
		}
		switch strings.TrimPrefix(name, "cmdstat_") {
		case "scan", "evalsha", "eval", "pubsub|numsub", "client|list", "zmscore", "zrangebyscore":
			calls += n
			busy += time.Duration(usec) * time.Microsecond
		}
	}
	return calls, busy
}

// slowOf are the times of commands in the server's log, sorted.
func slowOf(log []any) map[string][]time.Duration {
	all := make(map[string][]time.Duration)
	for _, one := range log {
		entry := one.([]any)
		name := fmt.Sprint(entry[3].([]any)[0])
		all[name] = append(all[name], time.Duration(entry[2].(int64))*time.Microsecond)
	}
	for _, times := range all {
		slices.Sort(times)
	}
	return all
}
