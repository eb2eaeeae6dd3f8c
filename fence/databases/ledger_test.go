package databases_test

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
)

func (db database) ledgerWithoutToken(t *testing.T) {
	ledger := fence.Ledger{DB: db.DB, Table: tableName(t), Style: db.style}
	db.must(t, "CREATE TABLE "+ledger.Table+" (resource VARCHAR(100) PRIMARY KEY, token BIGINT)")
	db.must(t, "INSERT INTO "+ledger.Table+" VALUES ('r', NULL)")
	fencetest.Refuses(t, func(token int64) error { return ledger.Pass(t.Context(), token, "r") })
}

// Goal: everything that a transaction writes is guarded by its pass.
// Method: transactions with random tokens write them into a log, whose order is the
// order in which they had the resource, and never goes back. Some are rolled back: their
// tokens have not passed.
func (db database) ledgerOrdersTransactions(t *testing.T) {
	ledger, log := db.ledger(t), tableName(t)
	id := "INTEGER PRIMARY KEY AUTOINCREMENT"
	switch db.style {
	case fence.Dollar:
		id = "BIGSERIAL PRIMARY KEY"
	case fence.MySQL:
		id = "BIGINT AUTO_INCREMENT PRIMARY KEY"
	}
	db.must(t, "CREATE TABLE "+log+" (id "+id+", token BIGINT NOT NULL)")
	var undone atomic.Int64
	once := func(token int64) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := ledger.PassIn(t.Context(), tx, token, "log"); err != nil {
			return err
		}
		if _, err := tx.Exec(db.marks("INSERT INTO "+log+" (token) VALUES (?)"), token); err != nil {
			return err
		}
		if rand.IntN(4) == 0 {
			undone.Add(1)
			return cmp.Or(tx.Rollback(), fencetest.ErrUndone)
		}
		return tx.Commit()
	}
	passed, newest := fencetest.Crowd(t, 6, 25, func(token int64) error {
		err := once(token)
		for again := 0; deadlocked(err) && again < 10; again++ {
			err = once(token)
		}
		return err
	})
	var rows, back int64
	must(t, db.QueryRow("SELECT COUNT(*) FROM "+log).Scan(&rows))
	must(t, db.QueryRow("SELECT COUNT(*) FROM "+log+" a JOIN "+log+" b ON a.id < b.id AND a.token > b.token").Scan(&back))
	if undone.Load() == 0 {
		t.Error("nothing was rolled back: this proves less")
	}
	fencetest.WantStale(t, ledger.Pass(t.Context(), newest-1, "log"), newest-1, newest)
	if rows != passed || back != 0 {
		t.Errorf("%d passed and %d wrote; %d pairs are in the wrong order", passed, rows, back)
	}
}

// deadlocked says that MySQL has rolled a transaction back, which is to be repeated. If the first
// transaction of a new resource is rolled back, those that wait for it may meet like this.
func deadlocked(err error) bool {
	refused, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && refused.Number == 1213
}
