package fence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/fence"
)

// silentStore is a database, and a bucket, that answers so many requests and then no more. A request ends with its context.
type silentStore struct {
	driver.Conn
	bucket fakeBucket
	left   atomic.Int64
}

func (m *silentStore) ask(ctx context.Context) error {
	if m.left.Add(-1) >= 0 {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (m *silentStore) Connect(context.Context) (driver.Conn, error) { return m, nil }
func (m *silentStore) Driver() driver.Driver                        { return nil }
func (m *silentStore) Close() error                                 { return nil }

func (m *silentStore) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return m, nil }
func (m *silentStore) Commit() error                                                { return nil }
func (m *silentStore) Rollback() error                                              { return nil }

func (m *silentStore) ExecContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(0), m.ask(ctx)
}

func (m *silentStore) QueryContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Rows, error) {
	return silentRows{m, ctx}, m.ask(ctx)
}

type silentRows struct {
	*silentStore
	ctx context.Context
}

func (silentRows) Columns() []string { return []string{"n"} }

func (r silentRows) Next(row []driver.Value) error {
	row[0] = int64(0)
	return r.ask(r.ctx)
}

func (m *silentStore) Get(ctx context.Context, key string) ([]byte, string, error) {
	if err := m.ask(ctx); err != nil {
		return nil, "", err
	}
	return m.bucket.Get(ctx, key)
}

func (m *silentStore) PutIf(ctx context.Context, key string, body []byte, etag string) (bool, error) {
	if err := m.ask(ctx); err != nil {
		return false, err
	}
	return m.bucket.PutIf(ctx, key, body, etag)
}

// Goal: each call to a store that falls silent ends with its context, says so, and holds nothing. Method: the store is silent
// at its first request, its second, and so on. A bubble knows its goroutines.
func TestAStoreThatFallsSilent(t *testing.T) {
	t.Parallel()
	row := fence.Table{Name: "stock"}.Row(7)
	for what, c := range map[string]struct {
		requests int64
		call     func(ctx context.Context, db *sql.DB, s fence.S3) error
	}{
		"Row.Update": {3, func(ctx context.Context, db *sql.DB, _ fence.S3) error { return row.Update(ctx, db, 33, "n = 1") }},
		"Row.Pass":   {3, func(ctx context.Context, db *sql.DB, _ fence.S3) error { return row.Pass(ctx, db, 33) }},
		"Row.UpdateIf": {3, func(ctx context.Context, db *sql.DB, _ fence.S3) error {
			_, err := row.UpdateIf(ctx, db, 33, "n = 1")
			return err
		}},
		"Ledger.Pass": {3, func(ctx context.Context, db *sql.DB, _ fence.S3) error {
			return fence.Ledger{DB: db}.Pass(ctx, 33, "stock:7")
		}},
		"Ledger.Pass of MySQL": {3, func(ctx context.Context, db *sql.DB, _ fence.S3) error {
			return fence.Ledger{DB: db, Style: fence.MySQL}.Pass(ctx, 33, "stock:7")
		}},
		"Ledger.PassIn": {3, func(ctx context.Context, db *sql.DB, _ fence.S3) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			return fence.Ledger{}.PassIn(ctx, tx, 33, "stock:7")
		}},
		"S3.Put":  {2, func(ctx context.Context, _ *sql.DB, s fence.S3) error { return s.Put(ctx, 33, "stock", nil) }},
		"S3.Pass": {2, func(ctx context.Context, _ *sql.DB, s fence.S3) error { return s.Pass(ctx, 33, "stock") }},
		"S3.Get": {1, func(ctx context.Context, _ *sql.DB, s fence.S3) error {
			_, _, err := s.Get(ctx, "stock")
			return err
		}},
	} {
		for answers := range c.requests {
			t.Run(fmt.Sprint(what, " after ", answers), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					m := new(silentStore)
					db := sql.OpenDB(m)
					defer db.Close()
					m.left.Store(100)
					s3 := openS3(t, m)
					m.left.Store(answers)
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					began := time.Now()
					err := c.call(ctx, db, s3)
					if took := time.Since(began); took != 5*time.Second || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fence.ErrStale) {
						t.Errorf("%v after %v", err, took)
					}
					synctest.Wait()
					if n := db.Stats().InUse; n != 0 {
						t.Errorf("%d connections are in use", n)
					}
				})
			})
		}
	}
}
