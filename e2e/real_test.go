package e2e

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/console"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: what the page shows is what Redis has. Method: a client takes, renews and releases a lock on a
// server, which goes away and comes back.
func TestOnARealServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := clientWith(t, server.URL(), redlatch.Config{Name: "worker-7", LeaseTime: 3 * time.Second})
	inspector := redistest.Must(inspect.New(client.Driver(), inspect.Config{}))
	hold := redistest.Must(client.Mutex("orders:1").TryLock(t.Context()))
	s := open(t, inspector, console.Options{Unlock: client, Token: testToken})
	s.until(`%s?.querySelector(".who").textContent === "worker-7"`, line("orders:1"))
	s.run(`window.ends = 0; location.hash = "#/lock/" + document.querySelector(".line").id.slice(4)`)
	s.until(`document.querySelectorAll('.events [data-kind="renewed"]').length > 0`)
	if err := hold.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.until(`document.querySelector(".sub").textContent.includes("Nobody holds it") && document.querySelector('.events [data-kind="released"]')`)
	server.Kill()
	s.until(`document.querySelector("#state").dataset.state === "trouble" && document.querySelector("#banner").checkVisibility()`)
	server.Restart(t)
	redistest.Must(client.Mutex("orders:2").Lock(t.Context()))
	s.run(`location.hash = "#/"`)
	s.until(`document.querySelector("#state").dataset.state === "live" && %s`, line("orders:2"))
	s.clean()
}
