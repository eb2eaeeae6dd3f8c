package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/console"
	"github.com/redlatch/redlatch/inspect"
)

// TestPictures draws the pictures of the page into the folder that REDLATCH_PICTURES names. They are
// for people to look at.
func TestPictures(t *testing.T) {
	folder := os.Getenv("REDLATCH_PICTURES")
	if folder == "" {
		t.Skip("REDLATCH_PICTURES names no folder")
	}
	locks, events := shop()
	src := newSource()
	src.ago = 10 * time.Minute
	src.permits = []inspect.Counter{{
		Name: "encoders", Kind: inspect.KindPermits, Available: 2, InUse: 3, Waiting: 1, Seen: time.Now(),
		Permits: []inspect.Permit{{ID: "4f1c0a9be27d5836a1409fd2c8e7b355", TTL: 11 * time.Second}, {ID: "a90d1e77c3b24f6095d8ee0137ac42f1", TTL: 19 * time.Second}, {ID: "0c5be84f91a7d26330fa7715be8d90c4", TTL: 26 * time.Second}},
	}}
	client := clientOf(t, "memory://")
	s := open(t, src, console.Options{Title: "redis://10.0.3.4:6379", Unlock: client, Token: testToken})
	s.until(`document.querySelector("#table .empty").textContent.startsWith("No lock")`)
	src.set(aged(locks))
	s.until(`document.querySelectorAll(".line").length > 10`)
	src.set(locks, events...)
	s.until(`document.querySelectorAll(".lease.low").length < 5`)
	s.until(`document.querySelectorAll(".line").length > 10`)
	s.until(`document.querySelector("#blocked").textContent === "1"`)
	shoot := func(name string) {
		t.Helper()
		png, err := chromedp.Run(s.tab, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lock := func(name string) string {
		return value[string](s, `[...document.querySelectorAll(".line")].find((e) => e.querySelector(".name").textContent === %q).id.slice(4)`, name)
	}
	orders, catalog, pool := lock("orders:1001"), lock("catalog"), lock("encoders")
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"wide", 1280, 760}, {"narrow", 390, 800}} {
		for _, theme := range []string{"light", "dark"} {
			s.do(chromedp.EmulateViewport(size.width, size.height))
			call(s, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
			for _, shot := range [][2]string{{"table", "#/"}, {"permits", "#/lock/" + pool}, {"lock", "#/lock/" + orders}, {"readers", "#/lock/" + catalog}, {"blocks", "#/blocks"}} {
				view, hash := shot[0], shot[1]
				s.run(`location.hash = %q`, hash)
				s.until(`location.hash === %q && document.querySelectorAll("main > section:not([hidden])").length === 1`, hash)
				if view == "lock" {
					s.until(`document.querySelectorAll(".events li:not(.none)").length > 3`)
				}
				s.run(`document.activeElement.blur()`)
				s.run(`new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(null))))`)
				shoot(view + "-" + size.name + "-" + theme)
			}
		}
	}
	s.do(chromedp.EmulateViewport(1280, 760))
	s.run(`location.hash = %q`, "#/lock/"+orders)
	s.until(`document.querySelector(".party button")`)
	s.do(chromedp.Click(chromedp.CSS(".party button")))
	s.until(`document.querySelector("dialog[open]")`)
	shoot("unlock")
	s.clean()
}

// shop are the locks of a shop, and what has happened to one of them.
func shop() ([]inspect.Lock, []inspect.Event) {
	second := time.Second
	orders := held("orders:1001", owner(1, 17), "checkout-7d9f", 21*second)
	orders.Kind, orders.Waiting, orders.Token, orders.Queued = inspect.KindFair, 4, 48213, 3
	orders.Holders[0].Noted = inspect.Noted{Note: "checkout 77120, by the shop", Recall: &redlatch.RecalledError{Author: "ops@bastion", Reason: "deploy 4711"}}
	orders.Queue = []inspect.Waiter{
		{Owner: owner(2, 4), Deadline: time.Now().Add(30 * second), Process: &inspect.Process{Name: "billing-a41c", Addr: "10.0.3.21:40112"}},
		{Owner: owner(3, 9), Deadline: time.Now().Add(31 * second), Process: &inspect.Process{Name: "shipping-02fe", Addr: "10.0.3.8:55310"}},
		{Owner: owner(4, 2), Deadline: time.Now().Add(33 * second)},
	}
	invoices := held("invoices:2026-11", owner(2, 4), "billing-a41c", 26*second)
	invoices.Kind, invoices.Waiting, invoices.Queued = inspect.KindFair, 1, 1
	invoices.Queue = []inspect.Waiter{{Owner: owner(5, 1), Deadline: time.Now().Add(30 * second), Process: &inspect.Process{Name: "reports-11b0"}}}
	catalog := held("catalog", owner(3, 1), "search-5c1d", 17*second)
	catalog.Kind, catalog.Mode, catalog.Owners, catalog.Waiting = inspect.KindReadWrite, redlatch.ModeRead, 3, 1
	catalog.Holders = append(catalog.Holders,
		inspect.Holder{Owner: owner(4, 6), Count: 2, TTL: 22 * second, Process: &inspect.Process{Name: "search-8b22", Addr: "10.0.3.9:41230"}},
		inspect.Holder{Owner: owner(5, 8), Count: 1, TTL: 8 * second})
	catalog.Findings = []inspect.Finding{{Code: "dead-reader", Text: "reader 6ba7b810-9dad-11d1-80b4-00c04fd430c5:8 has no connection; its hold ends in 8s"}}
	prices := held("prices", owner(6, 1), "pricing-0", 9*second)
	prices.Kind, prices.Mode, prices.Holders[0].Write = inspect.KindReadWrite, redlatch.ModeWrite, true
	nightly := held("nightly-report", owner(5, 3), "reports-11b0", 24*second)
	nightly.Holders[0].Note = "report of November"
	nightly.Holders[0].Protection = &inspect.Protection{PausedSince: time.Now().Add(-14 * second), Watchdog: "watchdog-2"}
	legacy := held("legacy-import", owner(7, 33), "", -1)
	legacy.Findings = []inspect.Finding{{Code: "no-ttl", Text: "the key has no expiry: if its holder dies, nobody gets the lock"}}
	locks := []inspect.Lock{catalog, invoices, legacy, nightly, orders, prices}
	for i, name := range []string{"cart:88213", "cart:88217", "cart:90114", "email-digest", "inventory:eu", "inventory:us", "payments:settle", "sitemap", "thumbnails:7", "thumbnails:12", "user:4711:merge", "warehouse:3:pick"} {
		locks = append(locks, held(name, owner(i%9, 20+i), []string{"checkout-7d9f", "cart-3", "worker-1", "worker-2"}[i%4], time.Duration(4+7*i%27)*second))
	}
	at := func(ago int) time.Time { return time.Now().Add(-time.Duration(ago) * second) }
	event := func(ago int, kind inspect.EventKind, p int, name, text string) inspect.Event {
		return inspect.Event{At: at(ago), Lock: "orders:1001", Kind: kind, Owner: owner(p, map[int]int{1: 17, 2: 4, 3: 9, 5: 8, 6: 5}[p]), Name: name, Text: text}
	}
	return locks, []inspect.Event{
		event(58, inspect.EventGranted, 5, "reports-11b0", "granted, 30s left"), event(52, inspect.EventWaits, 6, "pricing-0", "waits, 1st in the queue"),
		event(48, inspect.EventRenewed, 5, "reports-11b0", "renewed to 30s"), event(44, inspect.EventForced, 5, "reports-11b0", "taken away on this console"),
		event(44, inspect.EventGranted, 6, "pricing-0", "granted, 30s left"), event(40, inspect.EventWaits, 1, "checkout-7d9f", "waits, 1st in the queue"),
		event(34, inspect.EventRenewed, 6, "pricing-0", "renewed to 30s"), event(31, inspect.EventReleased, 6, "pricing-0", "released"),
		event(31, inspect.EventGranted, 1, "checkout-7d9f", "granted, 30s left"), event(24, inspect.EventWaits, 2, "billing-a41c", "waits, 1st in the queue"),
		event(21, inspect.EventRenewed, 1, "checkout-7d9f", "renewed to 30s"), event(15, inspect.EventWaits, 3, "shipping-02fe", "waits, 2nd in the queue"),
		event(11, inspect.EventRenewed, 1, "checkout-7d9f", "renewed to 30s"), event(1, inspect.EventRenewed, 1, "checkout-7d9f", "renewed to 30s"),
	}
}

// aged are the locks as they were when they were taken.
func aged(locks []inspect.Lock) []inspect.Lock {
	before := slices.Clone(locks)
	for i := range before {
		l := &before[i]
		l.Seen, l.TTL = time.Now().Add(-time.Duration(7+i*i*13%700)*time.Second), time.Second
		l.Holders = slices.Clone(l.Holders)
		for j := range l.Holders {
			l.Holders[j].TTL = time.Second
		}
	}
	return before
}
