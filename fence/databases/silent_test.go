package databases_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redlatch/redlatch/fence"
)

// Goal: a call to a database that accepts connections and answers nothing ends with its context, and holds no connection.
func TestADatabaseThatIsSilent(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts for it
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	address := listener.Addr().String()
	for driver, source := range map[string]string{"pgx": "postgres://user@" + address + "/db?sslmode=disable", "mysql": "user@tcp(" + address + ")/db"} {
		db, err := sql.Open(driver, source)
		must(t, err)
		t.Cleanup(func() { db.Close() })
		for what, call := range map[string]func(ctx context.Context) error{
			"Row.Update":  func(ctx context.Context) error { return fence.Table{Name: "stock"}.Row(7).Update(ctx, db, 33, "n = 1") },
			"Ledger.Pass": func(ctx context.Context) error { return fence.Ledger{DB: db}.Pass(ctx, 33, "stock:7") },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			began := time.Now()
			err := call(ctx)
			cancel()
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 20*time.Second {
				t.Errorf("%s by %s: %v after %v", what, driver, err, took)
			}
			if n := db.Stats().InUse; n != 0 {
				t.Errorf("%s by %s: %d connections are in use", what, driver, n)
			}
		}
	}
}
