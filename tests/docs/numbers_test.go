package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// number is a number of the project that a page names. Both patterns have one group, which captures it: the
// first in the pages, the second in the code. A name of files with a star leaves tests out. In a page, any run
// of white space is one space.
type number struct{ pages, says, code, is string }

// everyPage is every page that says what is true now. NEWEST is the newest release.
const everyPage = "README.md SECURITY.md CONTRIBUTING.md docs/*.md docs/releases/vNEWEST.md"

// numbers are the defaults and the bounds that the pages name. What is measured is not here: it stands in a
// table with its run. Not checked are numbers of other programs (Redis, Redisson, Kubernetes), of examples
// of use, and of what an interoperability test does.
var numbers = []number{
	{everyPage, `\bGo (1\.\d+)\b`, "go.mod", `(?m)^go (\d+\.\d+)`},
	{everyPage, `You need Go [\d.]+, and Redis (\d\.\d)`, "inspect/doctor/*.go", `"Redis (\d\.\d), Valkey \d\.\d, or later"`},
	{everyPage, `You need Go [\d.]+, and Redis \S+ or Valkey (\d\.\d)`, "inspect/doctor/*.go", `"Redis \d\.\d, Valkey (\d\.\d), or later"`},

	// The defaults of Config, wherever a page says them.
	{everyPage, "`(?:Config\\.)?PollCap`\\W+Default: (\\d\\w+)", "*.go", `c\.PollCap, (.*)\)`},
	{everyPage, "`(?:Config\\.)?CommandTimeout`\\W+Default: (\\d\\w+)", "*.go", `c\.CommandTimeout, (.*)\)`},
	{everyPage, "`(?:Config\\.)?ReleaseTimeout` bounds it\\. Default: (\\d\\w+)", "*.go", `c\.ReleaseTimeout, (.*)\)`},
	{everyPage, "its lease\\. Default: (\\d\\w+)", "*.go", `c\.LeaseTime, (\d.*)\)`},
	{"docs/operations.md", "\\| `LeaseTime` \\| (\\d\\w*)", "*.go", `c\.LeaseTime, (\d.*)\)`},
	{"docs/operations.md", "\\| `CommandTimeout` \\| (\\w+)", "*.go", `c\.CommandTimeout, (.*)\)`},
	{"docs/operations.md", "\\| `ReleaseTimeout` \\| (\\w+)", "*.go", `c\.ReleaseTimeout, (.*)\)`},
	{"docs/operations.md", "\\| `PollCap` \\| (\\w+)", "*.go", `c\.PollCap, (.*)\)`},
	{"docs/operations.md", "\\| `FairWait` \\| (\\w+)", "*.go", `c\.FairWait, (.*)\)`},
	{"docs/from-rueidislock.md", "`Config\\.LeaseTime`\\. Default: (\\w+)", "*.go", `c\.LeaseTime, (\d.*)\)`},
	{"docs/getting-started.md", `A lease lasts (\d+ seconds)`, "*.go", `c\.LeaseTime, (\d.*)\)`},
	{"docs/shutdown.md", `ended. Default: (\w+)`, "*.go", `c\.LeaseTime, (\d.*)\)`},
	{"docs/shutdown.md", `the rest of their leases, (\d+ s) at most`, "*.go", `c\.LeaseTime, (\d.*)\)`},
	{"docs/schedule.md", `Default of the lease: (\d+s)`, "*.go", `c\.LeaseTime, (\d.*)\)`},
	{"docs/semaphores.md", `At (\d+ ms) from the server`, "tests/counters/manywaiters_test.go", `	s\.Delay\((.*)\)\n	var work`},
	{"docs/semaphores.md", `(\d+) waiters of a process share`, "tests/counters/manywaiters_test.go", `began := time.Now\(\)\n	for i := range (\d+)`},
	{"docs/semaphores.md", `share (\d+) permits`, "tests/counters/manywaiters_test.go", `func manyWaiters.*\n	const permits = (\d+)`},
	{"docs/semaphores.md", `permits in less than (\d+ ms)`, "tests/counters/manywaiters_test.go", `took > (.*) \{`},
	{"docs/shutdown.md", `in the background for (two minutes) at least`, "internal/counter/*.go", `repeated = (.*)`},
	{"docs/shutdown.md", `Default of either timeout: (\d+s)`, "*.go", `c\.ReleaseTimeout, (.*)\)`},

	// Bounds of locks.
	{"docs/getting-started.md", `A name has 1 to ([\d,]+) bytes`, "internal/protocol/*.go", `MaxNameLen = (\w+)`},
	{"docs/errors.md", `longer than ([\d,]+) bytes`, "internal/protocol/*.go", `MaxNameLen = (\w+)`},
	{"docs/errors.md", `more than ([\d,]+) holds of one lock`, "internal/lock/*.go", `maxHolds += (\w+)`},
	{"docs/errors.md", `One owner that has ([\d,]+) holds of an`, "internal/lock/*.go", `maxReadHolds += (\w+)`},
	{"docs/errors.md", `more than ([\d,]+) permits`, "internal/script/*.go", `MaxCount += (1<<31 - 1)`},
	{"docs/inspect.md", `count from 1 to ([\d,]+)`, "internal/lock/*.go", `maxHolds += (\w+)`},
	{"docs/wire-format.md", `number from 1 to ([\d,]+)`, "internal/script/*.inc", `tonumber\(value\) <= (\d+)`},
	{"docs/wire-format.md", `more than ([\d,]+) fields`, "internal/script/*.inc", `max_fields, budget = 16, 4, (\d+)`},
	{"docs/operations.md", `more than ([\d,]+) entries`, "internal/script/*.inc", `max_length = (\d+)`},
	{"docs/operations.md", "`WithMaxHold` are (10 ms) to 10 years", "*.go", `minLease = (.*)`},
	{"docs/operations.md", "`LeaseTime` is at least (1 s)", "watchdog/*.go", `minLease = (.*)`},
	{"docs/cohorts.md", `That is 1 to (10 ms)`, "internal/cohort/*.go", `longestLinger += (.*)`},
	{"docs/multi-and-quorum.md", `for one member for 3 to (6) s`, "internal/multilock/*.go", `firstPatience += (\d) \* time\.Second`},
	{"docs/multi-and-quorum.md", `random time, (200 ms) at most`, "internal/multilock/*.go", `longestPause += (.*)`},
	{"docs/multi-and-quorum.md", `less 1 % and (2 ms)`, "internal/renew/*.go", `lease/100 \+ (.*) }`},

	// Fair locks.
	{"docs/operations.md docs/compatibility.md docs/wire-format.md docs/shutdown.md docs/from-redisson.md",
		`(?:silent for|over after|after|was silent for) (3\.5 s)`, "internal/keepalive/*.go", `ghostAge = (.*)`},
	{"docs/operations.md docs/compatibility.md", `(?:has|after|for) (10 s) (?:of a free|at most, and)`, "internal/script/*.inc", `head_time = (\d+ +-- milliseconds)`},
	{"docs/compatibility.md", `deadlines of the first (\d+) fair waiters`, "internal/script/*.inc", `window = (\d+)`},
	{"docs/operations.md", `more often than every (50 ms)`, "internal/keepalive/*.go", `shortestInterval += (.*)`},
	{"docs/operations.md", `less often than every (1 s)`, "internal/keepalive/*.go", `keepAliveInterval = (.*)`},
	{"docs/operations.md", `For (eight) times .Max. at most`, "internal/waitqueue/*.go", `maxPollRest = (\d+)`},
	{"docs/compatibility.md", `at most (sixteen) releases`, "internal/waitqueue/*.go", `maxStreak = (\d+)`},
	{"docs/compatibility.md", `sixteen releases or (10 ms)`, "internal/waitqueue/*.go", `maxStreakTime += (.*)`},

	// Connections and goroutines.
	{"docs/architecture.md", `takes up to (eight) more`, "driver/internal/single/*.go", `maxDedicated = (\d+)`},
	{"docs/architecture.md", `closed after (five seconds) without use`, "driver/internal/single/*.go", `dedicatedIdle = (.*)`},
	{"docs/architecture.md", `stalled client, (\d+) at a time`, "watchdog/*.go", `maxActive = (\d+)`},
	{"docs/architecture.md", `(\d+) with large sessions`, "watchdog/*.go", `maxLarge = (\d+)`},
	{"docs/architecture.md", `until (30 seconds) after the last`, "console/*.go", `linger += (\d+ \* time\.\w+)`},

	// The watchdog.
	{"docs/watchdog.md", `stop renewing for a client .*? longer\. Default: (\w+)`, "watchdog/*.go", `c\.MaxPause, (.*)\)`},
	{"docs/cli.md", `stop renewing for a client .*? longer\. Default: (\w+)`, "watchdog/*.go", `c\.MaxPause, (.*)\)`},
	{"docs/cli.md docs/watchdog.md", `Default: (127\.0\.0\.1:7801)`, "cmd/redlatch/*.go", `"listen", "(127\.0\.0\.1:7801)"`},
	{"docs/watchdog.md", `lease \| (1 hour) \|`, "internal/script/*.go", `longestLease = (time\.\w+)`},
	{"docs/watchdog.md", `one entry \| ([\d,]+) bytes for owner and lock`, "internal/script/*.go", `longestField = (\d+)`},
	{"docs/watchdog.md", `owner and lock, (\d+) for the rest`, "internal/script/*.go", `longestEntry = (\d+)`},
	{"docs/watchdog.md", `about (\d+) entries read`, "internal/script/*.go", `sessionPage += (\d+)`},
	{"docs/watchdog.md", `entries read, ([\d,]+) keys renewed`, "watchdog/*.go", `partKeys += (\w+)`},
	{"docs/watchdog.md", `all sessions of more than (\d+) keys`, "watchdog/*.go", `smallKeys += (\d+)`},
	{"docs/watchdog.md", `(\d+) sessions waiting`, "watchdog/*.go", `maxLarge = (\d+)`},
	{"docs/watchdog.md", `one session at one visit \| about ([\d,]+) keys`, "watchdog/*.go", `maxKeys += (\w+)`},
	{"docs/watchdog.md", `clients visited at a time \| (\d+)`, "watchdog/*.go", `maxActive = (\d+)`},
	{"docs/watchdog.md", `look begins(?: at most| \|) ([\d,]+)`, "watchdog/*.go", `maxVisits = (\d+)`},
	{"docs/watchdog.md", `names read by one look \| ([\d,]+);`, "watchdog/*.go", `maxPage   = (\d+)`},
	{"docs/watchdog.md", `the next ([\d,]+) of all`, "watchdog/*.go", `maxPage   = (\d+)`},
	{"docs/watchdog.md", `that a watchdog knows \| ([\d,]+)`, "watchdog/*.go", `maxKnown = (\w+)`},
	{"docs/watchdog.md", `finds more than\s(\d+) new clients`, "watchdog/*.go", `fewNew = (\d+)`},
	{"docs/watchdog.md", `While ([\d,]+) lines are waiting`, "internal/life/*.go", `maxReports = (\w+)`},
	{"docs/watchdog.md", `one owner on one lock \| (\d+) \|`, "internal/protocol/*.go", `MaxSessionCount = (\d+)`},
	{"docs/watchdog.md", `client, pulse or watchdog \| (\d+) bytes`, "internal/protocol/*.go", `MaxClientLen = (\d+)`},
	{"docs/watchdog.md", `share the work \| (\d+) \|`, "internal/script/*.go", `MaxWatchdogs = (\d+)`},
	{"docs/deadlocks.md", `reports at most (\d+) waits`, "internal/script/*.go", `MaxWaits = (\d+)`},

	// The console, and looking at locks.
	{"docs/console.md", `timeline has the last (15 minutes)`, "console/*.go", `keepFor += (.*)`},
	{"docs/console.md", `remembers at most (\d+) events of a lock`, "console/*.go", `maxStory += (\d+)`},
	{"docs/console.md", `of a lock, ([\d,]+) in all`, "console/*.go", `maxEvents += (\w+)`},
	{"docs/console.md", `in all, of ([\d,]+) locks`, "console/*.go", `maxStories = (\w+)`},
	{"docs/console.md", `shows the first ([\d,]+) locks`, "console/*.go", `maxRows = (\w+)`},
	{"docs/console.md", `reads on for (30 seconds) after`, "console/*.go", `linger += (\d+ \* time\.\w+)`},
	{"docs/console.md", `a body has at most (4 KB)`, "console/*.go", `maxBody += (4 << 10)`},
	{"docs/console.md", `4 KB and (10 seconds)`, "console/*.go", `bodyWithin = (.*)`},
	{"docs/console.md", `the headers (5 seconds)`, "cmd/redlatch/internal/serve/*.go", `headersWithin = (\d+ \* time\.\w+)`},
	{"docs/console.md", `and (\d+) connections`, "cmd/redlatch/*.go", `pageConnections = (\d+)`},
	{"docs/watchdog.md", `connections to ` + "`--listen`" + ` \| (\d+)`, "cmd/redlatch/*.go", `healthConnections = (\d+)`},
	{"docs/console.md", `at most (\d+) viewers`, "console/*.go", `maxViewers = (\d+)`},
	{"docs/console.md", `at most (\d+) wrong tokens`, "console/*.go", `wrongLogged = (\d+)`},
	{"docs/console.md docs/cli.md", `(?:http://|Default: )(127\.0\.0\.1:7800)`, "cmd/redlatch/*.go", `"listen", "(127\.0\.0\.1:7800)"`},
	{"docs/console.md", `sends at most ([\d,]+) commands a second`, "inspect/*.go", `c\.Rate, (\d+)\)`},
	{"docs/inspect.md", `servers together\. Default: (\d+)`, "inspect/*.go", `c\.Rate, (\d+)\)`},
	{"docs/cli.md", `commands a second\. Default: (\d+)`, "inspect/*.go", `c\.Rate, (\d+)\)`},
	{"docs/inspect.md", `connections at most every (two seconds)`, "inspect/*.go", `listAgain = (.*)`},

	{"docs/doctor.md", `measures (\d+) PINGs`, "inspect/doctor/*.go", `pings = (\d+)`},
	{"docs/doctor.md", `heard from it for (\d+) seconds`, "inspect/doctor/*.go", `maxLag = (\d+)`},

	// Leaders, schedules and guards.
	{"docs/leader.md", `leads within (\d+ ms) after`, "leader/process_unix_test.go", `enough = (.*)`},
	{"docs/leader.md", `Default: a (sixth) of the lease`, "leader/*.go", `asked = lease / (\d)`},
	{"docs/leader.md", "waits for `StopTimeout`\\. Default: (\\w+)", "leader/*.go", `cb\.StopTimeout, (\d.*)\)`},
	{"docs/schedule.md", `clocks of the machines\. Default: (\w+)`, "schedule/*.go", `defaultAtLeast = (.*)`},
	{"docs/fencing.md", `more than ([\d,]+) arguments`, "fence/*.go", `maxArguments = (\d+)`},
	{"docs/fencing.md", `last ([\d,]+) to 200,000 resources`, "fence/*.go", `fullMemory = (\w+)`},
	{"docs/fencing.md", `has up to (\d+) bytes`, "fence/*.go", `longestMySQL = (\d+)`},

	// What the interoperability tests run against.
	{"docs/compatibility.md", `\| Redisson ([\d.]+) \|`, "interop/java/versions", `\A([\d.]+)\n`},
	{"docs/compatibility.md", `\| Redisson \S+ \| ([\d.]+) \|`, "interop/java/versions", `\A.*\n([\d.]+)\n`},
	{"docs/compatibility.md", `\| Redisson \S+ \| \S+ \| ([\d.]+) \|`, "interop/java/versions", `([\d.]+)\n*\z`},

	// The command and the Makefile.
	{"README.md", `Their leases are (2 seconds) long`, "cmd/redlatch/*.go", `settings\.Lease = (2 \* time\.Second)`},
	{"docs/cli.md", `They have (250ms) to end`, "cmd/redlatch/internal/supervise/*.go", `defaultGrace = (.*)`},
	{"docs/simulation.md", `or Quorum of (three) servers`, "robustness/sim/*.go", `\{Quorum, "q"\}\}, (\d)`},
	{"docs/simulation.md", `leases of up to (24 hours)`, "robustness/sim/*.go", `between\(r, time\.Hour, (.*)\)`},
	{"docs/simulation.md", `at most a (quarter) of the command timeout`, "robustness/sim/*.go", `For <= p\.timeout\(\)/(\d)`},
	{"docs/how-we-know.md", `purpose, at (\d+) random places`, "Makefile", `MUTANTS \?= -sample (\d+)`},
	{"docs/how-we-know.md", `tries (\d+) of them at random`, "Makefile", `-hand -sample (\d+)`},
	{"docs/how-we-know.md", `goes (\d) moves less deep`, "robustness/explore/explore_test.go", `inTheDepth\(t, one\.depth, (\d)`},
	{"docs/how-we-know.md", `soak. locks for (1 hour)`, "Makefile", `REDLATCH_SOAK:-(\w+)`},
	{"docs/how-we-know.md", `more than (\d)0 % larger`, "robustness/soak/*.go", `early\*1\.(\d)`},
	{"docs/how-we-know.md", `Actors of up to (three) processes`, "tests/product/world_test.go", `procs +\[(\d)\]`},
	{"docs/simulation.md", `then wake (\d+) times less often`, "robustness/sim/*.go", `signal\.Slow\(([1-9]\d*)\)`},
	{"docs/simulation.md", `until ([\d,]+) hours are simulated`, "Makefile", `REDLATCH_HOURS \?= (\d+)`},
	{"docs/simulation.md", `for (3 minutes) at most`, "Makefile", `REDLATCH_SIM +\?= (\w+)`},
	{"docs/simulation.md", `the seeds from (\d+) on`, "Makefile", `REDLATCH_SEED +\?= (\d+)`},
}

func TestLongTheNumbersOfThePagesAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	for _, n := range numbers {
		says, is := captured(t, n.pages, n.says), captured(t, n.code, n.is)
		if len(says) == 0 || len(is) != 1 {
			t.Errorf("%s: %s is found %d times, and %s in %s as %q: want one number", n.pages, n.says, len(says), n.is, n.code, is)
			continue
		}
		for _, number := range says {
			if number != is[0] {
				t.Errorf("%s: %s says %s, and %s is %s", n.pages, n.says, number, n.code, is[0])
			}
		}
	}
}

// captured are the different numbers that a pattern finds in some files, in one form.
func captured(t *testing.T, files, pattern string) (found []string) {
	t.Helper()
	re, space := regexp.MustCompile(pattern), regexp.MustCompile(`\s+`)
	for name := range strings.FieldsSeq(strings.Replace(files, "NEWEST", releases(t)[0], 1)) {
		paths, err := filepath.Glob(filepath.Join(tree, name))
		must(t, err)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") && strings.Contains(name, "*") {
				continue
			}
			text, err := os.ReadFile(path)
			must(t, err)
			if strings.HasSuffix(path, ".md") {
				text = space.ReplaceAll(text, []byte(" "))
			}
			for _, match := range re.FindAllSubmatch(text, -1) {
				found = append(found, plain(string(match[1])))
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// plain is a number in one form, whether it stands in prose, in Go or in Lua: "10,000" is "10000", and
// "five seconds" and "5 * time.Second" are "5s".
func plain(text string) string {
	text = strings.TrimSpace(text)
	if number, _, is := strings.Cut(text, " "); is && strings.HasSuffix(text, "-- milliseconds") { // in Lua
		text = number + " ms"
	}
	if number, unit, is := strings.Cut(text, "*time."); is {
		text = number + " " + unit
	}
	if number, unit, is := strings.Cut(text, " * time."); is {
		text = number + " " + unit
	}
	if unit, is := strings.CutPrefix(text, "time."); is {
		text = "1 " + unit
	}
	number, unit, _ := strings.Cut(text, " ")
	for word, digits := range map[string]string{"two": "2", "three": "3", "quarter": "4", "five": "5", "sixth": "6", "eight": "8", "sixteen": "16"} {
		if number == word {
			number = digits
		}
	}
	number = strings.NewReplacer(",", "", "_", "").Replace(number)
	units := map[string]time.Duration{
		"ms": time.Millisecond, "Millisecond": time.Millisecond, "s": time.Second, "Second": time.Second, "seconds": time.Second,
		"minutes": time.Minute, "Minute": time.Minute, "hour": time.Hour, "hours": time.Hour, "Hour": time.Hour,
	}
	if value, err := strconv.ParseFloat(number, 64); err == nil && units[unit] > 0 {
		return time.Duration(value * float64(units[unit])).String()
	}
	if d, err := time.ParseDuration(number); err == nil && unit == "" {
		return d.String()
	}
	switch text {
	case "4 KB", "4 << 10":
		return "4096"
	case "1<<31 - 1":
		return "2147483647"
	}
	return number
}

// Goal: plain makes one form of what is the same, and different ones of what is not.
func TestPlainMakesNumbersComparable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"65,536": "65536", "100_000": "100000", "five seconds": "5s", "5 * time.Second": "5s", "5*time.Minute": "5m0s",
		"2m": "2m0s", "3.5 s": "3.5s", "3500 * time.Millisecond": "3.5s", "15 minutes": "15m0s", "time.Hour": "1h0m0s",
		"time.Second": "1s", "sixteen": "16", "1.26": "1.26", "250ms": "250ms", "10000     -- milliseconds": "10s", "4 KB": "4096",
	} {
		if got := plain(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
