package databases_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func (db database) staleUpdateThatWaited(t *testing.T) {
	stock := db.stock(t)
	db.staleThatWaited(t, func(on fence.DB, token int64) error {
		return stock.Row(1).Update(t.Context(), on, token, db.marks("n = ?"), token)
	})
	if n := db.read(t, stock, "n", 1); n != 34 {
		t.Errorf("n is %d, want 34", n)
	}
}

func (db database) stalePassThatWaited(t *testing.T) {
	ledger := db.ledger(t)
	db.staleThatWaited(t, func(on fence.DB, token int64) error {
		return ledger.PassIn(t.Context(), on, token, "r")
	})
}

// staleThatWaited has an older token come while a newer one has passed in a transaction
// that is still open: it waits, and is judged by what the transaction leaves behind.
func (db database) staleThatWaited(t *testing.T, pass func(on fence.DB, token int64) error) {
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback()
	must(t, pass(tx, 34))
	stale := make(chan error, 1)
	waits := "SELECT COUNT(*) FROM pg_locks WHERE NOT granted"
	if db.style == fence.MySQL {
		waits = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'"
	}
	go func() { stale <- pass(db, 33) }()
	redistest.Eventually(t, 10*time.Second, func() bool {
		var waiting int
		must(t, db.QueryRow(waits).Scan(&waiting))
		return waiting > 0
	}, "the older one waits for the row")
	must(t, tx.Commit())
	fencetest.WantStale(t, <-stale, 33, 34)
}

func (db database) tableInASchema(t *testing.T) {
	schema := tableName(t)
	db.must(t, "CREATE SCHEMA "+schema)
	db.must(t, "CREATE TABLE "+schema+".stock (id BIGINT PRIMARY KEY, n BIGINT, fence BIGINT NOT NULL DEFAULT 0)")
	db.must(t, "INSERT INTO "+schema+".stock (id, n) VALUES (1, 10)")
	stock := fence.Table{Name: schema + ".stock", Style: db.style}
	fencetest.Refuses(t, func(token int64) error { return stock.Row(1).Update(t.Context(), db, token, "n = n") })
	fencetest.Keeps(t, func() fence.Ledger {
		l := fence.Ledger{DB: db.DB, Table: schema + ".fences", Style: db.style}
		db.must(t, l.Schema())
		return l
	}())
}
