package databases_test

import (
	"errors"
	"testing"

	"github.com/redlatch/redlatch/fence"
)

// Goal: whatever marks set has, the guard compares its own token with its own row.
// Method: marks that SQLite does not count one by one. Row 2 and a token of 2 are there for a
// guard whose arguments are shifted.
func (db database) oddMarks(t *testing.T) {
	for _, c := range []struct {
		set  string
		args []any
		n    int64 // negative: refused
	}{
		{"n = ?1 + ?1", []any{5}, 10},
		{"n = ?1 + ?1", []any{5, 5}, -1},
		{"n = ?2 - ?1", []any{5, 8}, 3},
		{"n = ?2 - ?", []any{5, 8, 1}, 7},
		{"n = ? + ?1", []any{4}, 8},
		{"n = ?3", []any{5}, -1},
		{"n = LENGTH('?')", []any{5}, 1},
		{"n = LENGTH('?')", nil, -1},
	} {
		stock := db.stock(t)
		err := stock.Row(1).Update(t.Context(), db, 2, c.set, c.args...)
		want := [4]int64{c.n, 2, 10, 0}
		if c.n < 0 {
			want = [4]int64{10, 0, 10, 0}
		}
		got := [4]int64{db.read(t, stock, "n", 1), db.read(t, stock, "fence", 1), db.read(t, stock, "n", 2), db.read(t, stock, "fence", 2)}
		if got != want || (err != nil) != (c.n < 0) || errors.Is(err, fence.ErrStale) {
			t.Errorf("%s of %v: %v; n and fence of both rows are %v, want %v", c.set, c.args, err, got, want)
		}
		db.must(t, "DROP TABLE "+stock.Name)
	}
}
