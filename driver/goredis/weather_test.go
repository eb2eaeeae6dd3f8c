package goredis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// limit is the time of a call, pace is how long a lock is held, and patient is longer than a call may take even
// on a busy machine.
const limit, pace, patient = 200 * time.Millisecond, 10 * time.Millisecond, 6 * time.Second

// sky is a server, and a client's way to it. Foreign code misbehaves while the foul weather lasts.
type sky struct {
	server *redistest.Server
	proxy  *redistest.Proxy
	foul   atomic.Pointer[context.Context]
}

// hang is foreign code that ignores its context.
func (s *sky) hang() {
	if foul := s.foul.Load(); foul != nil {
		<-(*foul).Done()
	}
}

func (s *sky) lasts() bool { foul := s.foul.Load(); return foul != nil && (*foul).Err() == nil }

// weather is what happens to a server until all users have met it.
type weather struct {
	name         string
	begins, ends func(testing.TB, *sky)
}

const forgetful = "restarted empty"

var weathers = []weather{
	{"cut connections", func(_ testing.TB, s *sky) { s.proxy.Cut() }, func(_ testing.TB, s *sky) { s.proxy.Cut() }},
	{"frozen server", func(_ testing.TB, s *sky) { s.server.Freeze() }, func(_ testing.TB, s *sky) { s.server.Thaw() }},
	{forgetful, func(_ testing.TB, s *sky) { s.server.Kill() }, func(t testing.TB, s *sky) { s.server.Restart(t) }},
	{"demoted to replica", func(t testing.TB, s *sky) {
		s.server.CLI(t, "REPLICAOF", "127.0.0.1", "1")
		s.server.CLI(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	}, func(t testing.TB, s *sky) { s.server.CLI(t, "REPLICAOF", "NO", "ONE") }},
	{"slow, 100 ms", func(_ testing.TB, s *sky) { s.proxy.Delay(100 * time.Millisecond) }, func(_ testing.TB, s *sky) { s.proxy.Delay(0) }},
}

// Goal: whatever the options of the client and the weather are, the lock excludes, each call ends in time, all
// works afterwards, and no goroutine is left. Method: each option meets two of the weathers.
func TestOptionsInWeather(t *testing.T) {
	t.Parallel()
	meetAll(t, func(option, weather int) bool { return (option+weather)%5 < 2 })
}

// Goal: the same for the whole table of docs/go-redis.md.
func TestLongOptionsInEachWeather(t *testing.T) {
	t.Parallel()
	meetAll(t, func(int, int) bool { return true })
}

// meetAll is the table of docs/go-redis.md. Eight options meet their weathers at a time, to spare the machine.
func meetAll(t *testing.T, chosen func(option, weather int) bool) {
	table, rules := "| Option |", "|---|"
	for _, w := range weathers {
		table, rules = table+" "+w.name+" |", rules+"---|"
	}
	table += "\n" + rules + "\n"
	places := make(chan struct{}, 8)
	var all sync.WaitGroup
	for i, o := range optionRows(t) {
		table += "| " + o.name + " |"
		for _, w := range weathers {
			table += " " + o.outcome(w) + " |"
		}
		table += "\n"
		places <- struct{}{}
		s := o.sky(t)
		all.Go(func() {
			for k, w := range weathers {
				if w.name != o.without && chosen(i, k) {
					o.meet(t, s, w)
				}
			}
			<-places
		})
	}
	all.Wait()
	if page, err := os.ReadFile("../../docs/go-redis.md"); err != nil || !bytes.Contains(page, []byte(table)) {
		t.Errorf("docs/go-redis.md lacks the table: %v\n%s", err, table)
	}
}

// meet is one cell of the table.
func (o optionRow) meet(t testing.TB, s *sky, w weather) {
	c := &cell{TB: t, name: o.name + ", " + w.name}
	var work sync.WaitGroup
	work.Go(func() { o.endure(c, s, w) })
	work.Wait()
	if !t.Failed() {
		redistest.Eventually(c, soon, func() bool { return c.stacks() == "" }, "no goroutine is left")
	}
}

// endure has the users of a lock meet the weather.
func (o optionRow) endure(c *cell, s *sky, w weather) {
	c.label(c.name)
	defer func() {
		for _, end := range slices.Backward(c.ends) {
			end()
		}
	}()
	rdb := o.client(s)
	d, lock := c.locker(rdb)
	users := []func() error{
		func() error { return lock(limit) }, func() error { return lock(limit) },
		func() error {
			return withLimit(limit, func(ctx context.Context) error { return d.DedicatedPipeline(ctx, command("PING"))[0].Err })
		},
	}
	if w.name != forgetful { // what the server has forgotten, another client may be granted
		fair := &sky{proxy: s.proxy, server: s.server}
		_, other := c.locker(o.client(fair))
		users = append(users, func() error { return other(limit) })
	}
	works := func() bool {
		err := lock(patient)
		return err == nil || o.during != nil && errors.Is(err, redis.ErrClosed)
	}
	redistest.Eventually(c, soon, works, "the lock can be had")
	met, stop := c.begin(users)
	defer stop()
	foul, over := context.WithCancel(context.Background())
	s.foul.Store(&foul)
	end := sync.OnceFunc(func() { c.unlabelled(func() { w.ends(c, s) }); over() })
	defer end()
	c.unlabelled(func() { w.begins(c, s) })
	if o.during != nil {
		o.during(rdb)
	}
	ended := make([]int64, len(met))
	for i := range met {
		ended[i] = met[i].Load()
	}
	for i := range met {
		redistest.Eventually(c, soon, func() bool { return met[i].Load() > ended[i]+1 }, "the calls end")
	}
	end()
	if !o.ruined {
		redistest.Eventually(c, later, works, "the lock can be had again")
	}
}

// cell is one option in one weather.
type cell struct {
	testing.TB
	name   string
	latest atomic.Pointer[redlatch.Hold]
	ends   []func()
}

func (c *cell) Fatalf(format string, args ...any) {
	c.TB.Fatalf("%s: %s\n%s", c.name, fmt.Sprintf(format, args...), c.stacks())
}

// begin has each user make one call after another, until stop. met counts those that have ended.
func (c *cell) begin(users []func() error) (met []atomic.Int64, stop func()) {
	var all sync.WaitGroup
	over := make(chan struct{})
	met = make([]atomic.Int64, len(users))
	for i, use := range users {
		all.Go(func() {
			for ; ; met[i].Add(1) {
				select {
				case <-over:
					return
				case <-time.After(pace):
				}
				began := time.Now()
				err := use()
				if took := time.Since(began); took > patient/2 { // less than it would be without a limit
					c.Errorf("%s: a call took %v: %v", c.name, took, err)
				}
			}
		})
	}
	return met, func() { close(over); all.Wait() }
}

// label marks the goroutines that are started from here on.
func (c *cell) label(text string) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("cell", text)))
}

// unlabelled is for what starts a server, which stays.
func (c *cell) unlabelled(f func()) { c.label(""); f(); c.label(c.name) }

// theirs are the goroutines that go-redis has started: what is left of a failover client that is closed while it dials
// listens to its Sentinel for ever.
var theirs = regexp.MustCompile(`go-redis/v9\S*\s+\S+$`)

// stacks are those of the goroutines that belong to the cell.
func (c *cell) stacks() string {
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1)
	var left []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, fmt.Sprintf("%q:%q", "cell", c.name)) && !theirs.MatchString(strings.TrimSpace(stack)) {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

func withLimit(limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return f(ctx)
}

// locker is a driver on a client, and one use of the lock through it.
func (c *cell) locker(rdb redis.UniversalClient) (driver.Driver, func(time.Duration) error) {
	c.ends = append(c.ends, func() { _ = rdb.Close() })
	d, err := goredis.New(rdb, goredis.WithCommandTimeout(patient))
	if err != nil {
		c.Fatalf("%v", err)
	}
	client, err := redlatch.New(d, redlatch.Config{LeaseTime: time.Second, CommandTimeout: patient, ReleaseTimeout: limit,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		c.Fatalf("%v", err)
	}
	c.ends = append(c.ends, func() { _ = client.Close(context.Background()); d.Close() })
	return d, func(limit time.Duration) error {
		return withLimit(limit, func(ctx context.Context) error {
			h, err := client.Mutex(c.name).Lock(ctx)
			if err != nil {
				return err
			}
			if before := c.latest.Swap(h); before != nil && before.Valid() && h.Valid() {
				c.Errorf("%s: %s holds the lock, and so does %s", c.name, before.Owner(), h.Owner())
			}
			select {
			case <-h.Done():
			case <-time.After(pace):
			}
			_ = h.Unlock(ctx)
			return nil
		})
	}
}
