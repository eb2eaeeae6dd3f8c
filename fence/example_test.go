package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/fence"
)

// The tokens of two holders, the first of which was paused for too long. They come from
// Hold.Token.
const (
	paused = 33
	newer  = 34
)

func Example() {
	ctx := context.Background()
	var guard fence.Memory
	fmt.Println(guard.Pass(ctx, paused, "stock:7"))
	fmt.Println(guard.Pass(ctx, newer, "stock:7")) // the lock went on to somebody else
	err := guard.Pass(ctx, paused, "stock:7")
	fmt.Println(err, errors.Is(err, fence.ErrStale))
	// Output:
	// <nil>
	// <nil>
	// stale token: 33, and 34 has passed true
}

func ExampleRow_Update() {
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

func ExampleRow_UpdateIf() {
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

func ExampleLedger_PassIn() {
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

func ExampleRedis_Do() {
	ctx := context.Background()
	redis, err := memory.Open(ctx, memory.Options{}) // or rueidis.Open, for a server
	check(err)
	defer redis.Close()

	guard := fence.Redis{Driver: redis}
	reply, err := guard.Do(ctx, newer, "HSET", "order:7", "state", "paid")
	fmt.Println(reply.Int, err)
	_, err = guard.Do(ctx, paused, "HSET", "order:7", "state", "open")
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// fence: key "order:7": stale token: 33, and 34 has passed
}

func ExampleHandler() {
	putStock := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("written with token", fence.TokenFrom(r.Context()))
	})
	mux := http.NewServeMux()
	mux.Handle("PUT /stock/{id}", fence.Handler(putStock, fence.HTTPConfig{Store: new(fence.Memory)}))
	server := httptest.NewServer(mux)
	defer server.Close()

	client := server.Client()
	client.Transport = &fence.Transport{Base: client.Transport}
	for _, token := range []int64{newer, paused} {
		ctx := fence.WithToken(context.Background(), token)
		request, err := http.NewRequestWithContext(ctx, "PUT", server.URL+"/stock/7", nil)
		check(err)
		response, err := client.Do(request)
		check(err)
		response.Body.Close()
		fmt.Printf("%s %q\n", response.Status, response.Header.Get(fence.Header))
	}
	// Output:
	// written with token 34
	// 200 OK ""
	// 409 Conflict "34"
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
