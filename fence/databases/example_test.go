package databases_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/redlatch/redlatch/fence"
)

// The examples of package fence that need a database, with what they print.

// The tokens of two holders, the first of which was paused for too long.
const (
	paused = 33
	newer  = 34
)

func Example_row() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:row?mode=memory&cache=shared")
	check(err)
	defer db.Close()
	_, err = db.Exec(`CREATE TABLE stock (id INTEGER PRIMARY KEY, n INTEGER, fence BIGINT NOT NULL DEFAULT 0);
		INSERT INTO stock (id, n) VALUES (7, 10)`)
	check(err)

	stock := fence.Table{Name: "stock"}
	fmt.Println(stock.Row(7).Update(ctx, db, newer, "n = n - ?", 3))
	fmt.Println(stock.Row(7).Update(ctx, db, paused, "n = n - ?", 3))
	fmt.Println(stock.Row(8).Update(ctx, db, newer, "n = n - ?", 3))

	var n int
	check(db.QueryRow("SELECT n FROM stock").Scan(&n))
	fmt.Println("left:", n)
	// Output:
	// <nil>
	// fence: row [7] of stock: stale token: 33, and 34 has passed
	// fence: row [8] of stock: no such row
	// left: 7
}

func Example_version() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:version?mode=memory&cache=shared")
	check(err)
	defer db.Close()
	_, err = db.Exec(`CREATE TABLE page (id INTEGER PRIMARY KEY, text TEXT, version BIGINT NOT NULL DEFAULT 0);
		INSERT INTO page (id, text) VALUES (1, 'draft')`)
	check(err)

	page := fence.Table{Name: "page"}.Row(1)
	read := int64(0) // two editors have read this version
	fmt.Println(page.UpdateIf(ctx, db, read, "text = ?", "first"))
	_, err = page.UpdateIf(ctx, db, read, "text = ?", "second")
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// fence: row [1] of page: version conflict: 0, and the row has 1
}

func Example_ledger() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:ledger?mode=memory&cache=shared")
	check(err)
	defer db.Close()
	ledger := fence.Ledger{DB: db}
	_, err = db.Exec(ledger.Schema() + `; CREATE TABLE orders (item TEXT)`)
	check(err)

	order := func(token int64) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := ledger.PassIn(ctx, tx, token, "orders"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES ('book')"); err != nil {
			return err
		}
		return tx.Commit()
	}
	fmt.Println(order(newer))
	fmt.Println(order(paused))
	// Output:
	// <nil>
	// fence: resource "orders" in fences: stale token: 33, and 34 has passed
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
