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
	var ctx context.Context
	var db *sql.DB // of the application

	stock := fence.Table{Name: "stock"} // with a column fence BIGINT
	err := stock.Row(7).Update(ctx, db, paused, "n = n - ?", 3)
	if errors.Is(err, fence.ErrStale) {
		return // a newer holder has written row 7: nothing was changed
	}
	check(err)
}

func ExampleRow_UpdateIf() {
	var ctx context.Context
	var db *sql.DB // of the application
	var read int64 // the version that the editor has seen

	page := fence.Table{Name: "page"}.Row(1) // with a column version BIGINT
	_, err := page.UpdateIf(ctx, db, read, "text = ?", "second")
	check(err) // it says so if somebody else has written since
}

func ExampleLedger_PassIn() {
	var ctx context.Context
	var db *sql.DB                 // of the application
	ledger := fence.Ledger{DB: db} // its table is made once, by ledger.Schema()

	tx, err := db.BeginTx(ctx, nil)
	check(err)
	defer tx.Rollback()
	check(ledger.PassIn(ctx, tx, newer, "orders")) // refuses the older holder
	_, err = tx.ExecContext(ctx, "INSERT INTO orders VALUES ('book')")
	check(err)
	check(tx.Commit())
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
