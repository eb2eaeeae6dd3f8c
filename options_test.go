package redlatch

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/redlatch/redlatch/driver/memory"
)

// The table of options: what it says is what happens, and what the page says.

// kindsInOrder are all kinds of locks, as the page names them.
var kindsInOrder = []struct {
	kind lockKinds
	name string
	of   func(on []*Client, name string) Lock
}{
	{aMutex, "`Mutex`", func(on []*Client, name string) Lock { return on[0].Mutex(name) }},
	{aFairMutex, "`FairMutex`", func(on []*Client, name string) Lock { return on[0].FairMutex(name) }},
	{aWriter, "`RWMutex.Lock`", func(on []*Client, name string) Lock { return on[0].RWMutex(name) }},
	{aReader, "`RWMutex.RLock`", func(on []*Client, name string) Lock { return on[0].RWMutex(name).RLocker() }},
	{aPermit, "`PermitSemaphore`", func(on []*Client, name string) Lock {
		_, _ = on[0].PermitSemaphore(name).TrySetPermits(context.Background(), 1)
		return on[0].PermitSemaphore(name).Locker()
	}},
	{aMulti, "`Multi`", func(on []*Client, name string) Lock { return must(NewMulti(on[0].Mutex(name), on[1].Mutex(name))) }},
	{aQuorum, "`Quorum`", func(on []*Client, name string) Lock {
		return must(NewQuorum(on[0].Mutex(name), on[1].Mutex(name), on[2].Mutex(name)))
	}},
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// optionOf is an option of that kind with a value that is in range for all.
func optionOf(kind optionKind, d time.Duration) LockOption {
	return LockOption{kind: kind, d: d, n: 1, s: "note", b: Backoff{First: time.Millisecond, Max: time.Second}}
}

// Goal: each option, alone and with each other one, works for each kind of lock or is refused as the table
// says. Method: equal times, and times of which one is longer than the other and than Config.RestartDelay.
func TestEveryUseOfAnOptionWorksOrIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var on []*Client
		for i := range 3 {
			c, err := Open(t.Context(), fmt.Sprintf("memory://options-%d", i), Config{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close(context.Background()) }()
			on = append(on, c)
		}
		refused := 0
		for _, k := range kindsInOrder {
			for a := leaseOption; a < restartDelay; a++ {
				for b := leaseOption; b < restartDelay; b++ {
					for _, d := range [][2]time.Duration{{time.Second, time.Second}, {time.Minute, time.Second}} {
						l := k.of(on, fmt.Sprint(k.kind, a, b, d))
						field := refusedFor(k.kind, a, b, d[0], d[1])
						if field != "" {
							refused++
						}
						checkUse(t, l, field, optionOf(a, d[0]), optionOf(b, d[1]))
					}
				}
			}
		}
		if refused < 100 {
			t.Errorf("%d uses are refused", refused)
		}
	})
}

// refusedFor names the options of two that the table refuses; "" if it refuses none. If they are alike, the
// second one counts.
func refusedFor(kind lockKinds, a, b optionKind, da, db time.Duration) (fields string) {
	if a == b {
		da = db
	}
	for _, p := range []struct {
		own, other   optionKind
		time, longer time.Duration
	}{{a, b, da, db}, {b, a, db, da}, {a, restartDelay, da, 30 * time.Second}, {b, restartDelay, db, 30 * time.Second}} {
		for _, r := range optionTable[p.own].refused {
			concerned := r.kinds == 0 || r.kinds&kind != 0
			if concerned && (r.with == 0 || r.with == p.other && (!r.longer || p.time > p.longer)) {
				fields += optionTable[p.own].name
			}
		}
	}
	return fields
}

// checkUse takes a lock with two options. The embedded server has no replicas to confirm a hold.
func checkUse(t *testing.T, l Lock, refused string, a, b LockOption) {
	t.Helper()
	h, err := l.TryLock(t.Context(), a, b)
	what := fmt.Sprintf("%T with %s and %s", l, optionTable[a.kind].name, optionTable[b.kind].name)
	config, is := errors.AsType[*ConfigError](err)
	switch replicas := a.kind == replicasOption || b.kind == replicasOption; {
	case is != (refused != "") || is && !strings.Contains(refused, config.Field):
		t.Errorf("%s, %v and %v: %v; the table refuses %q", what, a.d, b.d, err, refused)
	case is || replicas && errors.Is(err, ErrNotReplicated):
	case err != nil:
		t.Errorf("%s: %v", what, err)
	default:
		if err := h.Unlock(t.Context()); err != nil {
			t.Errorf("%s: Unlock: %v", what, err)
		}
	}
}

// Goal: the page has the table. Method: write the table anew, and look for it.
func TestThePageOnChoosingHasTheTableOfOptions(t *testing.T) {
	t.Parallel()
	table := "| Option | is refused | because |\n|---|---|---|\n"
	for _, row := range optionTable {
		for _, r := range row.refused {
			table += fmt.Sprintf("| `%s` | %s | %s |\n", row.name, r.where(), r.why)
		}
	}
	if page, err := os.ReadFile("docs/choosing.md"); err != nil || !strings.Contains(string(page), "\n\n"+table+"\n") {
		t.Errorf("docs/choosing.md lacks this table (%v):\n\n%s", err, table)
	}
}

// where says for a reader where an option is refused.
func (r refusal) where() string {
	var names []string
	for _, k := range kindsInOrder {
		if r.kinds&k.kind != 0 {
			names = append(names, k.name)
		}
	}
	where := strings.Join(names, ", ")
	if where != "" {
		where = "for " + where
	}
	switch other := "`" + optionTable[r.with].name + "`"; {
	case r.longer:
		where += " if longer than " + other
	case r.with != 0:
		where += " with " + other
	}
	return strings.TrimSpace(where)
}

// Goal: each option has a row under its own name.
func TestEveryOptionHasARow(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "options.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, row := range optionTable {
		named[row.name] = row.apply != nil
	}
	options := 0
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && strings.HasPrefix(f.Name.Name, "With") {
			if options++; !named[f.Name.Name] {
				t.Errorf("%s has no row", f.Name.Name)
			}
		}
	}
	if want := int(restartDelay) - 1; options != want {
		t.Errorf("there are %d options, and %d rows", options, want)
	}
}
