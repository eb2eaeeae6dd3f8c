package redlatch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Who may import whom, read from the tree itself. What may stand in a file is in housefiles_test.go.

// house lists every package by its floor, top floor first. "." is the public
// API; "name/..." stands for everything below name. A package imports packages
// of lower floors only. The top floor serves tests: nothing but a test stands
// above it, and its packages may import one another.
var house = [][]string{
	{"internal/redistest", "internal/embedded", "cmd/redlatch/internal/proctest", "driver/drivertest", "driver/internal/drivercheck", "fence/internal/fencetest", "interop", "robustness", "robustness/...", "tests/..."},
	{"cmd/redlatch", "examples/..."},
	{"cmd/redlatch/internal/demo", "cmd/redlatch/internal/supervise"},
	{"cmd/redlatch/internal/serve"},
	{"console"},
	{"inspect/blocked", "inspect/doctor"},
	{"redlatchprom", "redlatchotel", "schedule/gocron"},
	{"watchdog", "fence", "inspect", "leader", "schedule", "redlatchtest", "verify"},
	{"internal/clientstats", "internal/sole"},
	{"."},
	{"internal/connect"},
	{"driver/memory", "driver/sentinel", "driver/goredis"},
	{"driver/rueidis", "driver/cluster"},
	{"internal/multilock", "internal/cohort", "internal/counter", "internal/operator"},
	{"internal/lock"},
	{"driver/internal/single"},
	{"internal/keepalive"},
	{"driver/internal/call", "internal/life", "internal/waitqueue", "internal/renew", "internal/session", "internal/names"},
	{"internal/script"},
	{"internal/guest"},
	{"internal/protocol", "internal/lockerr", "internal/pause", "internal/signal", "driver"},
	{"internal/random"},
}

// houseOnly narrows the floors: these packages import nothing of the house but
// what stands here.
var houseOnly = map[string][]string{
	".": {
		"internal/connect", "internal/lock", "internal/multilock", "internal/cohort", "internal/counter", "internal/operator", "internal/protocol", "internal/lockerr", "driver",
	},
	// Not driver/memory: only programs that import it contain it.
	"internal/connect":       {"driver/sentinel", "driver/rueidis", "driver/cluster", "internal/lockerr", "internal/pause", "driver"},
	"driver/memory":          {"driver/rueidis", "driver"},
	"driver/sentinel":        {"driver/rueidis", "driver/internal/single", "driver/internal/call", "internal/signal", "driver"},
	"driver/goredis":         {"driver/cluster", "driver/internal/call", "internal/pause", "internal/signal", "driver"}, // the library links no go-redis
	"driver/rueidis":         {"driver/internal/single", "driver"},
	"driver/cluster":         {"driver/internal/call", "internal/guest", "internal/pause", "internal/random", "internal/signal", "driver"}, // put together from single drivers, whichever they are
	"driver/internal/single": {"driver/internal/call", "internal/pause", "internal/random", "driver"},
	"driver/internal/call":   {"internal/pause", "driver"},
	// Several locks are made of the public life of one; they know no script.
	"internal/multilock": {
		"internal/guest", "internal/lock", "internal/lockerr", "internal/waitqueue", "internal/renew", "internal/pause", "internal/random", "internal/signal", "driver",
	},
	// A cohort is a user of one lock.
	"internal/cohort": {"internal/lock", "internal/lockerr", "internal/pause", "internal/signal"},
	// It knows processes and a deadline, and nothing of Redis.
	"cmd/redlatch/internal/supervise": {"internal/pause"},
	"cmd/redlatch/internal/serve":     {}, // any handler
	// Waiting knows messages and renewing knows time; neither knows a script.
	"internal/waitqueue": {"internal/pause", "internal/signal", "driver"},
	"internal/renew":     {"internal/signal"},
}

// houseStandard lists the packages that need the standard library and the house
// alone, each with what it may not have even from there.
var houseStandard = map[string][]string{
	"internal/protocol": {"net", "os", "syscall", "time"}, // pure: no I/O, no clock
	"internal/renew":    {"net", "os", "syscall"},
	"driver":            {"net", "os", "syscall"},
	"driver/cluster":    {"os", "syscall"},

	"driver/internal/call": {"net", "os", "syscall"},
}

const houseModule = "github.com/redlatch/redlatch"

func TestHouseImportsRunOneWay(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	standard := map[string]bool{}
	for _, p := range packages {
		standard[p.ImportPath] = p.Standard
	}
	for _, p := range packages {
		room, ours := roomOf(p.ImportPath)
		if !ours {
			continue
		}
		if floorOf(room) < 0 {
			t.Errorf("package %s has no floor: add it to the variable house in house_test.go", room)
			continue
		}
		for _, path := range p.Imports {
			if why := wrongImport(room, path, standard[path]); why != "" {
				t.Errorf("%s must not import %s: %s", room, path, why)
			}
		}
	}
}

// Goal: the rules above are not so lenient that they pass everything.
// Method: one arrow of every wrong kind, and the right ones next to them.
func TestHouseSeesWrongImports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		room, path string
		standard   bool
		wrong      bool
	}{
		{room: "cmd/redlatch", path: houseModule + "/watchdog"},
		{room: "watchdog", path: houseModule},
		{room: ".", path: houseModule + "/internal/lock"},
		{room: "internal/multilock", path: houseModule + "/internal/lock"},
		{room: ".", path: houseModule + "/internal/script", wrong: true},
		{room: "internal/multilock", path: houseModule + "/internal/script", wrong: true},
		{room: "internal/lock", path: houseModule + "/internal/multilock", wrong: true},
		{room: ".", path: houseModule + "/internal/connect"},
		{room: "internal/connect", path: houseModule + "/driver/rueidis"},
		{room: "internal/script", path: houseModule + "/internal/protocol"},
		{room: "driver/memory", path: houseModule + "/driver/rueidis"},
		{room: "driver/rueidis", path: "github.com/redis/rueidis"},
		{room: "robustness", path: houseModule + "/internal/redistest"},
		{room: "internal/protocol", path: "strings", standard: true},

		{room: "watchdog", path: houseModule + "/cmd/redlatch/internal/demo", wrong: true},
		{room: "watchdog", path: houseModule + "/fence", wrong: true},
		{room: "internal/script", path: houseModule, wrong: true},
		{room: "internal/waitqueue", path: houseModule + "/internal/renew", wrong: true},
		{room: "internal/waitqueue", path: houseModule + "/internal/script", wrong: true},
		{room: "internal/session", path: houseModule + "/watchdog", wrong: true},
		{room: "driver", path: houseModule + "/internal/protocol", wrong: true},
		{room: "driver/rueidis", path: houseModule + "/internal/protocol", wrong: true},
		{room: "driver/cluster", path: houseModule + "/driver/rueidis", wrong: true},
		{room: ".", path: houseModule + "/fence", wrong: true},
		{room: "driver/cluster", path: houseModule + "/driver/internal/single", wrong: true},
		{room: ".", path: houseModule + "/driver/memory", wrong: true},
		{room: "internal/connect", path: houseModule + "/driver/memory", wrong: true},
		{room: "internal/connect", path: houseModule, wrong: true},
		{room: ".", path: houseModule + "/internal/redistest", wrong: true},
		{room: "cmd/redlatch", path: houseModule + "/internal/redistest", wrong: true},
		{room: "examples/shop", path: houseModule + "/internal/redistest", wrong: true},
		{room: "driver/memory", path: houseModule + "/driver/drivertest", wrong: true},
		{room: "internal/protocol", path: "time", standard: true, wrong: true},
		{room: "internal/protocol", path: "net/url", standard: true, wrong: true},
		{room: "internal/protocol", path: "github.com/redis/rueidis", wrong: true},
		{room: "driver", path: "github.com/redis/rueidis", wrong: true},
	} {
		why := wrongImport(c.room, c.path, c.standard)
		if (why != "") != c.wrong {
			t.Errorf("%s imports %s: got %q, want a complaint: %v", c.room, c.path, why, c.wrong)
		}
	}
	if floorOf("util") >= 0 {
		t.Error("a package that is not in the table was found on a floor")
	}
}

// Goal: a program that uses redis:// alone does not link the embedded server and its Lua
// interpreter, nor go-redis. Method: nothing that the library depends on, at any depth, belongs to
// them. With the packages of these drivers all are found, so the patterns are right.
func TestHouseLinksNoEmbeddedServer(t *testing.T) {
	t.Parallel()
	embedded := regexp.MustCompile(`(?m)^github\.com/(alicebob/miniredis|yuin/gopher-lua|redis/go-redis).*$`)
	if found := embedded.FindAll(houseDependencies(t, ".", "./fence", "./watchdog"), -1); len(found) > 0 {
		t.Errorf("the library depends on %q: only driver/memory and driver/goredis may", found)
	}
	with := houseDependencies(t, "./driver/memory", "./driver/goredis")
	for _, name := range []string{"github.com/alicebob/miniredis/v2\n", "github.com/yuin/gopher-lua\n", "github.com/redis/go-redis/v9\n"} {
		if !bytes.Contains(with, []byte(name)) || !embedded.MatchString(name) {
			t.Errorf("the drivers do not depend on %s, or the pattern does not match it", name)
		}
	}
}

// Goal: only programs that import redlatchprom or redlatchotel link Prometheus or OpenTelemetry.
func TestHouseLinksNoMetricsUnlessAskedFor(t *testing.T) {
	t.Parallel()
	for opted, pattern := range map[string]*regexp.Regexp{
		"./redlatchprom": regexp.MustCompile(`(?m)^github\.com/prometheus/.*$`),
		"./redlatchotel": regexp.MustCompile(`(?m)^go\.opentelemetry\.io/.*$`),
	} {
		if found := pattern.FindAll(houseDependencies(t, ".", "./fence", "./driver/memory"), -1); len(found) > 0 {
			t.Errorf("the library depends on %q: only %s may", found, opted)
		}
		if !pattern.Match(houseDependencies(t, opted)) {
			t.Errorf("the pattern %s finds nothing in %s", pattern, opted)
		}
	}
}

// houseDependencies are all packages that some packages depend on, one a line.
func houseDependencies(t *testing.T, packages ...string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, packages...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return out
}

func TestHouseNamesOnlyPackagesThatExist(t *testing.T) {
	t.Parallel()
	named := slices.Concat(house...)
	for _, only := range houseOnly {
		named = append(named, only...)
	}
	named = slices.AppendSeq(named, maps.Keys(houseOnly))
	named = slices.AppendSeq(named, maps.Keys(houseStandard))
	slices.Sort(named)
	for _, room := range slices.Compact(named) {
		if !existsRoom(room) {
			t.Errorf("house_test.go names the package %s, which has no Go file", room)
		}
	}
}

// Goal: the rule above sees a package that is gone, alone and below a folder.
func TestHouseSeesPackagesThatAreGone(t *testing.T) {
	t.Parallel()
	for room, exists := range map[string]bool{
		".": true, "driver": true, "examples/...": true, "gone": false, "gone/...": false, "scripts": false,
	} {
		if got := existsRoom(room); got != exists {
			t.Errorf("the package %s exists: got %v, want %v", room, got, exists)
		}
	}
}

// wrongImport says why the package room may not import path, or nothing.
func wrongImport(room, path string, standard bool) string {
	imported, ours := roomOf(path)
	if !ours {
		return wrongOutsideImport(room, path, standard)
	}
	from, to := floorOf(room), floorOf(imported)
	only, narrowed := houseOnly[room]
	switch {
	case to < 0:
		return "it has no floor in house_test.go"
	case to == 0 && from != 0:
		return "it serves tests alone"
	case to == from && from != 0:
		return "it stands on the same floor; imports run down the table in house_test.go"
	case to < from:
		return "it stands on a higher floor; imports run down the table in house_test.go"
	case narrowed && !slices.Contains(only, imported):
		return fmt.Sprintf("of the house it may import only %q, see houseOnly in house_test.go", only)
	}
	return ""
}

// wrongOutsideImport is wrongImport for a path outside the module.
func wrongOutsideImport(room, path string, standard bool) string {
	forbidden, strict := houseStandard[room]
	if !strict {
		return ""
	}
	if !standard {
		return "it needs the standard library alone, see houseStandard in house_test.go"
	}
	for _, f := range forbidden {
		if path == f || strings.HasPrefix(path, f+"/") {
			return fmt.Sprintf("it does without %q, see houseStandard in house_test.go", f)
		}
	}
	return ""
}

// roomOf turns an import path into the name that a package has in the table, and
// says whether it is one of ours.
func roomOf(path string) (string, bool) {
	if path == houseModule {
		return ".", true
	}
	return strings.CutPrefix(path, houseModule+"/")
}

// existsRoom says whether a name of the table has a Go file.
func existsRoom(room string) bool {
	pattern := room + "/*.go"
	if above, all := strings.CutSuffix(room, "/..."); all {
		pattern = above + "/*/*.go"
	}
	files, err := filepath.Glob(pattern)
	return err == nil && len(files) > 0
}

// floorOf counts from the top; -1 is a package that is not in the table.
func floorOf(room string) int {
	return slices.IndexFunc(house, func(floor []string) bool {
		return slices.ContainsFunc(floor, func(name string) bool {
			above, all := strings.CutSuffix(name, "/...")
			return room == name || all && strings.HasPrefix(room, above+"/")
		})
	})
}

// listedPackage is what go list tells of one package. Imports are those of its
// ordinary files; tests may import whatever they like.
type listedPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// listPackages returns the packages of the workspace and all that they depend on,
// also those that do not compile.
func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-deps",
		"-json=ImportPath,Standard,Imports", houseModule+"/...").Output() // of all modules of the workspace
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listedPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		err := d.Decode(&p)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("read the answer of go list: %v", err)
		}
		packages = append(packages, p)
	}
	if !slices.ContainsFunc(packages, func(p listedPackage) bool { return p.ImportPath == houseModule }) {
		t.Fatalf("go list did not name %s among %d packages", houseModule, len(packages))
	}
	return packages
}
