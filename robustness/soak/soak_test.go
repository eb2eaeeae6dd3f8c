package soak

import (
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/redistest"
)

const lengthEnv = "REDLATCH_SOAK" // for how long, such as 1h

// shortSoak is a run among the tests. It is too short to see a slow leak.
const shortSoak = 6 * time.Second

func TestMain(m *testing.M) { redistest.Main(m) }

// Goal: nothing grows, however long clients lock names that come and go while connections break.
// Method: all kinds of locks on three servers, and a measurement of each quantity three hundred times.
func TestLongNothingGrows(t *testing.T) {
	length := shortSoak
	if text := os.Getenv(lengthEnv); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil || length < time.Second {
			t.Fatalf("%s is %q, not a duration such as 1h", lengthEnv, text)
		}
	}
	tr := start(t)
	r, began := newRecord(length/300), time.Now()
	for time.Since(began) < length {
		r.add(tr.measure(t)...)
		_ = pause.For(t.Context(), r.every) // after each measurement, so that rates are of full intervals
	}
	tr.stop()
	for _, s := range r.series {
		if grown := s.growth(); grown != "" && length >= time.Minute {
			t.Error(grown)
		}
	}
	t.Logf("%v on %d servers: %d holds of %d names, %d disturbed connections, %d losses",
		time.Since(began).Round(time.Second), len(tr.servers), tr.holds.Load(), tr.names.Load(), tr.disturbed.Load(), tr.losses())
	if tr.holds.Load() < 100 {
		t.Error("there was hardly any traffic")
	}
}

func newRecord(every time.Duration) *record {
	return &record{every: every, series: []*series{
		{name: "heap of the clients", unit: "MB, live", slack: 1},
		{name: "goroutines", unit: "", slack: 10},
		{name: "connections", unit: "at the servers", slack: 3},
		{name: "keys", unit: "at the servers", slack: 100},
		{name: "memory of the servers", unit: "MB", slack: 1},
		{name: "commands", unit: "a second", slack: 50},
		{name: "commands a hold", unit: "", slack: 1},
	}}
}

// meter turns totals into rates.
type meter struct {
	at              time.Time
	commands, holds float64
}

// measure returns a value for each series.
func (tr *traffic) measure(t *testing.T) []float64 {
	var clients, keys, memory, commands float64
	for _, s := range tr.servers {
		info := infoOf(t, s)
		clients += info["connected_clients"]
		memory += info["used_memory"] / 1e6
		commands += info["total_commands_processed"]
		keys += float64(s.CLI(t, "DBSIZE").(int64))
	}
	now := meter{time.Now(), commands, float64(tr.holds.Load())}
	last := tr.last
	if last.at.IsZero() {
		last.at = now.at.Add(-time.Second)
	}
	tr.last = now
	rate := (now.commands - last.commands) / now.at.Sub(last.at).Seconds()
	return []float64{heap(), float64(runtime.NumGoroutine()), clients, keys, memory, rate,
		(now.commands - last.commands) / max(now.holds-last.holds, 1)}
}

// heap is what the program still uses, in MB.
func heap() float64 {
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return float64(live[0].Value.Uint64()) / 1e6
}

// infoOf returns the numbers of INFO.
func infoOf(t *testing.T, s *redistest.Server) map[string]float64 {
	info := map[string]float64{}
	for line := range strings.Lines(s.CLI(t, "INFO").(string)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			info[name] = v
		}
	}
	return info
}

// counters of a run.
type counters struct{ holds, disturbed, names atomic.Int64 }

// window returns a name among those that are in use now. Every ten seconds two hundred leave and
// two hundred come.
func window(began time.Time, random *rand.Rand) int {
	return int(time.Since(began)/(10*time.Second))*200 + random.IntN(1000)
}
