package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fence"
	_ "modernc.org/sqlite"
)

// bank has a row for each account.
type bank struct {
	db     *sql.DB
	client *redlatch.Client
}

// account guards the rows: column "fence" has the token of the last write.
var account = fence.Table{Name: "account"}

var errTooPoor = errors.New("the account has too little money")

// openBank makes the accounts.
func openBank(ctx context.Context, file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE account (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0)`)
	for id := 1; id <= accounts && err == nil; id++ {
		_, err = db.ExecContext(ctx, "INSERT INTO account (id, cents) VALUES (?, ?)", id, opening)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// lockName is the name of the lock of an account.
func lockName(id int) string { return fmt.Sprint("account:", id) }

// both is the lock of two accounts. A Multi takes its members in one order, whoever asks, so that two
// transfers in opposite directions do not wait for each other for ever.
func (b *bank) both(from, to int) (*redlatch.Multi, error) {
	return redlatch.NewMulti(b.client.Mutex(lockName(from)), b.client.Mutex(lockName(to)))
}

// transfer moves money from one account to another.
func (b *bank) transfer(ctx context.Context, from, to int, cents int64) error {
	both, err := b.both(from, to)
	if err != nil {
		return err
	}
	return redlatch.Do(ctx, both, func(ctx context.Context, hold *redlatch.Hold) error {
		return b.write(ctx, hold, from, to, cents)
	}, redlatch.WithFencing())
}

// transferLate is transfer by a process that stands still until another one has used the accounts.
func (b *bank) transferLate(ctx context.Context, from, to int, cents int64) error {
	both, err := b.both(from, to)
	if err != nil {
		return err
	}
	hold, err := both.Lock(ctx, redlatch.WithFencing())
	if err != nil {
		return err
	}
	defer hold.Unlock(ctx)
	for _, id := range []int{from, to} { // as if the lease had ended
		if _, err := b.client.Mutex(lockName(id)).ForceUnlock(ctx); err != nil {
			return err
		}
	}
	if err := b.transfer(ctx, from, to, 0); err != nil {
		return err
	}
	return b.write(ctx, hold, from, to, cents)
}

// write changes both rows, or none. Each row is guarded by the token of its own lock.
func (b *bank) write(ctx context.Context, hold *redlatch.Hold, from, to int, cents int64) error {
	tokens := map[string]int64{}
	for _, member := range hold.Members() {
		tokens[member.Name()] = member.Token()
	}
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	err = errors.Join(
		account.Row(from).Update(ctx, tx, tokens[lockName(from)], "cents = cents - ?", cents),
		account.Row(to).Update(ctx, tx, tokens[lockName(to)], "cents = cents + ?", cents),
	)
	if err != nil {
		return err
	}
	var left int64
	if err := tx.QueryRowContext(ctx, "SELECT cents FROM account WHERE id = ?", from).Scan(&left); err != nil {
		return err
	}
	if left < 0 {
		return errTooPoor
	}
	return tx.Commit()
}

// sum is the money of all accounts.
func (b *bank) sum(ctx context.Context) (cents int64, err error) {
	err = b.db.QueryRowContext(ctx, "SELECT SUM(cents) FROM account").Scan(&cents)
	return cents, err
}
