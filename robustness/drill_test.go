package robustness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/redistest"
)

const (
	lengthEnv = "REDLATCH_DRILL"      // for how long each drill goes on, such as 10m; prints the table
	seedEnv   = "REDLATCH_DRILL_SEED" // repeats the plans of a run
)

// shortDrill is the length of a drill among the tests: a round or two of faults.
const shortDrill = 4 * time.Second

// tail is for how long the traffic goes on after the last fault was repaired: until leases
// that nobody holds have ended.
const tail = lease + time.Second

// serveWithin bounds the wait for service. It is long, for a busy machine needs most of it to start the servers.
const serveWithin = time.Minute

func TestMain(m *testing.M) { redistest.Main(m) }

func TestLongDrills(t *testing.T) {
	length, seed, report := drillLength(t), drillSeed(t), &report{}
	drills := []struct {
		name string
		run  func(*drill)
	}{
		{"promoted too early", promotedTooEarly},
		{"primary killed", primaryKilled},
		{"primary cut off", primaryCutOff},
		{"cluster failover", clusterFailover},
		{"independent servers", independentServers},
	}
	var names []string
	for i, d := range drills {
		names = append(names, d.name)
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			seed := seed + uint64(i)
			d.run(&drill{T: t, name: d.name, report: report, length: length, seed: seed, random: rand.New(rand.NewPCG(seed, 0))})
		})
	}
	t.Cleanup(func() {
		text := fmt.Sprintf("%v of each drill, seed %d\n\n%s", length, seed, report.table(names...))
		if os.Getenv(lengthEnv) != "" {
			fmt.Printf("\n%s\n", text)
		} else {
			t.Log(text)
		}
	})
}

func drillLength(t *testing.T) time.Duration {
	if text := os.Getenv(lengthEnv); text != "" {
		length, err := time.ParseDuration(text)
		if err != nil || length <= 0 {
			t.Fatalf("%s is %q, not a duration such as 10m", lengthEnv, text)
		}
		return length
	}
	return time.Duration(redistest.Stretch(1)) * shortDrill
}

func drillSeed(t *testing.T) uint64 {
	seed := rand.Uint64N(1_000_000_000)
	if text := os.Getenv(seedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedEnv, err)
		}
	}
	t.Logf("repeat the plans with %s=%d", seedEnv, seed)
	return seed
}

// drill is one set of servers with its plan of faults, and the traffic on them.
type drill struct {
	*testing.T
	name   string
	report *report
	length time.Duration
	seed   uint64
	random *rand.Rand // of the plan

	clock      clock
	traffic    []*traffic
	firstFault time.Duration // when the first fault came
}

// begin starts the traffic: two clients for each level, made by join. All of one call connect before their traffic, since
// that takes long beside it.
func (d *drill) begin(levels []level, keys []string, join func(redlatch.Config) client) {
	d.Helper()
	if d.clock.start.IsZero() {
		d.clock.start = time.Now()
	}
	var clients [][]client
	for _, l := range levels {
		clients = append(clients, []client{join(l.config()), join(l.config())})
	}
	for i, l := range levels {
		d.seed++
		c := newTraffic(l, d.clock, keys)
		c.start(clients[i], d.seed)
		d.Cleanup(c.end) // before the clients are closed, also when the drill breaks off
		d.traffic = append(d.traffic, c)
	}
}

// moreRounds bounds the rounds in which a drill waits for what has to go wrong.
const moreRounds = 40

// rounds calls round until the length of the drill is over, and then until enough says so.
func (d *drill) rounds(round func(), enough func() bool) {
	d.pause(300*time.Millisecond, time.Second)
	d.firstFault = d.clock.now()
	for extra := 0; extra < moreRounds; {
		round()
		if d.clock.now() < d.firstFault+d.length {
			continue
		}
		if enough() {
			break
		}
		extra++
	}
	repaired := d.clock.now()
	d.pause(tail, tail)
	d.awaitService(repaired)
}

// awaitService waits until every level has a grant that was asked for at a moment or later.
func (d *drill) awaitService(since time.Duration) {
	d.Helper()
	for _, c := range d.traffic {
		served := func() bool {
			return slices.ContainsFunc(c.history.all(), func(s span) bool { return s.asked >= since })
		}
		redistest.Eventually(d, serveWithin, served, c.level.name+": there is service")
	}
}

// pause is a part of the plan.
func (d *drill) pause(low, high time.Duration) {
	_ = pause.For(context.Background(), between(d.random, low, high))
}

// overlapped says that holds of the weakest level have overlapped.
func (d *drill) overlapped() bool { return overlaps(d.traffic[0].history.all()) > 0 }

// nothing is enough for a drill in which nothing has to go wrong.
func nothing() bool { return true }

// end stops the traffic and checks what every level promises.
func (d *drill) end() {
	until := d.clock.now()
	for _, c := range d.traffic {
		c.stop()
	}
	var rows []row
	for _, c := range d.traffic {
		c.end()
		r := c.sum(d.name, d.firstFault, until)
		rows = append(rows, r)
		d.check(c.level, r)
	}
	d.report.add(rows)
}

func (d *drill) check(l level, r row) {
	d.Helper()
	if l.exclusive && r.overlaps > 0 {
		d.Errorf("%s: %d overlaps", l.name, r.overlaps)
	}
	if l.growing && r.reused > 0 {
		d.Errorf("%s: %d tokens were given again", l.name, r.reused)
	}
}

// mustOverlap fails a drill in which nothing could go wrong.
func (d *drill) mustOverlap() {
	d.Helper()
	if !d.overlapped() {
		d.Error("the plain lock did not overlap: this drill shows nothing")
	}
}

// names are those of locks where it does not matter where they are.
func (d *drill) names() []string {
	return []string{redistest.Name(d), redistest.Name(d)}
}

// byURL joins clients by a URL.
func (d *drill) byURL(url string) func(redlatch.Config) client {
	return func(cfg redlatch.Config) client { return mutexes(d.open(url, cfg)) }
}

func mutexes(c *redlatch.Client) client {
	return func(name string) redlatch.Lock { return c.Mutex(name) }
}

func (d *drill) open(url string, cfg redlatch.Config) (c *redlatch.Client) {
	d.Helper()
	d.connect(func() (err error) { c, err = redlatch.Open(d.Context(), url, cfg); return err })
	d.Cleanup(func() { _ = c.Close(context.Background()) }) // the server may be dead
	return c
}

// on joins a client on a driver that dial makes.
func (d *drill) on(cfg redlatch.Config, dial func() (driver.Driver, error)) client {
	d.Helper()
	var connection driver.Driver
	d.connect(func() (err error) { connection, err = dial(); return err })
	d.Cleanup(connection.Close)
	c, err := redlatch.New(connection, cfg)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = c.Close(context.Background()) })
	return mutexes(c)
}

// connect repeats an attempt to connect: the time limits of a drill are short for a machine
// on which so many servers have just been started.
func (d *drill) connect(attempt func() error) {
	d.Helper()
	var err error
	for end := time.Now().Add(30 * time.Second); ; {
		if err = attempt(); err == nil {
			return
		}
		if time.Now().After(end) {
			d.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // sentinels, too, need a processor
	}
}
