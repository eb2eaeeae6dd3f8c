package databases_test

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/internal/redistest"
)

func (db database) version(t *testing.T) {
	stock := db.stock(t)
	row := stock.Row(1)
	next, err := row.UpdateIf(t.Context(), db, 0, db.marks("n = ?"), 5)
	if err != nil || next != 1 {
		t.Fatalf("the first update: version %d, %v", next, err)
	}
	if _, err := row.UpdateIf(t.Context(), db, 0, db.marks("n = ?"), 6); !errors.Is(err, fence.ErrConflict) {
		t.Errorf("the second update of version 0: %v, want ErrConflict", err)
	}
	if n := db.read(t, stock, "n", 1); n != 5 {
		t.Errorf("n is %d, want 5", n)
	}
	if next, err = row.UpdateIf(t.Context(), db, next, "n = n"); err != nil || next != 2 {
		t.Errorf("with the version that the first update returned: %d, %v", next, err)
	}
}

func (db database) rowWithoutVersion(t *testing.T) {
	stock := db.stock(t)
	db.must(t, "UPDATE "+stock.Name+" SET version = NULL")
	if next, err := stock.Row(1).UpdateIf(t.Context(), db, 0, "n = 5"); err != nil || next != 1 {
		t.Errorf("the first update: version %d, %v", next, err)
	}
	if _, err := stock.Row(2).UpdateIf(t.Context(), db, 1, "n = 6"); !errors.Is(err, fence.ErrConflict) {
		t.Errorf("an update of version 1: %v, want ErrConflict", err)
	}
}

// Callers assign the result to the variable that holds the version. After an error this
// must not be a version that the caller has never read.
func (db database) versionAfterError(t *testing.T) {
	row := db.stock(t).Row(1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, call := range map[string]func() (int64, error){
		"a context that is over": func() (int64, error) { return row.UpdateIf(ended, db, 0, "n = 0") },
		"a wrong set":            func() (int64, error) { return row.UpdateIf(t.Context(), db, 0, "m = 0") },
		"a conflict":             func() (int64, error) { return row.UpdateIf(t.Context(), db, 7, "n = 0") },
	} {
		want := int64(0)
		if what == "a conflict" {
			want = 7
		}
		if version, err := call(); err == nil || version != want {
			t.Errorf("%s: version %d and error %v, want %d and an error", what, version, err, want)
		}
	}
}

// errLost is the error of a statement whose reply was lost.
var errLost = errors.New("the connection was lost")

// lossy is a database that loses every third statement or its reply.
type lossy struct {
	fence.DB
	roll *rand.Rand
}

func (l lossy) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if l.roll.IntN(6) == 0 {
		return nil, errLost
	}
	result, err := l.DB.ExecContext(ctx, query, args...)
	if err == nil && l.roll.IntN(6) == 0 {
		return nil, errLost
	}
	return result, err
}

// Goal: no update undoes one that its author has not seen, although statements and replies
// are lost.
// Method: writers assign the result of UpdateIf to their version, as the documentation does,
// and read again only after a conflict. Each update adds one to n and to the version, so
// that the two stay together.
func (db database) versionsUnderLoad(t *testing.T) {
	stock := db.stock(t)
	const workers = 6
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var done sync.WaitGroup
	for i := range workers {
		roll := rand.New(rand.NewPCG(seed, uint64(i)))
		done.Go(func() {
			for range redistest.Stretch(10) {
				if err := db.addOne(t.Context(), lossy{db, roll}, stock); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done.Wait()
	n, version := db.read(t, stock, "n", 1), db.read(t, stock, "version", 1)
	if n != 10+version || version < int64(workers*redistest.Stretch(10)) {
		t.Errorf("n is %d after %d updates, of which at least %d were made", n, version, workers*redistest.Stretch(10))
	}
}

// Goal: what the documentation says of a version that a transaction returned which did not
// commit. Another writer makes the same one, so it passes, and undoes what that one wrote.
func (db database) versionRolledBack(t *testing.T) {
	row := db.stock(t).Row(1)
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	version, err := row.UpdateIf(t.Context(), tx, 0, "n = 1")
	must(t, err)
	must(t, tx.Rollback())
	if _, err := row.UpdateIf(t.Context(), db, version, "n = 1"); !errors.Is(err, fence.ErrConflict) {
		t.Errorf("nobody has made version %d: %v, want ErrConflict", version, err)
	}
	_, err = row.UpdateIf(t.Context(), db, 0, "n = 2")
	must(t, err)
	if _, err := row.UpdateIf(t.Context(), db, version, "n = 1"); err != nil {
		t.Errorf("the documented gap has closed: %v", err)
	}
}

// addOne adds one to n once it was told that the update was made.
func (db database) addOne(ctx context.Context, unsure fence.DB, stock fence.Table) error {
	for {
		var n, version int64
		if err := db.QueryRowContext(ctx, "SELECT n, version FROM "+stock.Name+" WHERE id = 1").Scan(&n, &version); err != nil {
			return err
		}
		err := errLost
		for errors.Is(err, errLost) {
			version, err = stock.Row(1).UpdateIf(ctx, unsure, version, db.marks("n = ?"), n+1)
		}
		if !errors.Is(err, fence.ErrConflict) {
			return err
		}
	}
}
