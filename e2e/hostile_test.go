package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/console"
	"github.com/redlatch/redlatch/inspect"
)

// crowd are locks whose texts are as long as they can be and have no place to break.
func crowd() []inspect.Lock {
	long := strings.Repeat("unbroken", 30)
	process := &inspect.Process{Client: long, Name: long, Addr: "[2001:db8:1234:5678:9abc:def0:1234:5678]:54321"}
	paused := held(long, owner(1, 1), long, time.Minute)
	paused.Kind, paused.Queued = inspect.KindFair, 1<<40
	paused.Holders[0].Process, paused.Holders[0].Protection = process, &inspect.Protection{PausedSince: time.Now().Add(-time.Hour), Watchdog: long}
	paused.Queue = []inspect.Waiter{{Owner: owner(2, 1), Process: process, Deadline: time.Now().Add(time.Minute)}, {Owner: long, Deadline: time.Unix(1<<40, 0)}}
	paused.Findings = []inspect.Finding{{Code: "list-and-set-disagree-at-length", Text: long}, {Code: "no-ttl", Text: long}, {Code: "orphaned-timeout", Text: long}}
	paused.Token, paused.Waiting = 1<<62, 1<<40
	next := held(long+"2", owner(2, 1), "", -1)
	next.Holders[0].Count, next.Holders[0].Process = 1<<40, process
	next.Kind, next.Queue = inspect.KindFair, []inspect.Waiter{{Owner: owner(1, 1), Process: process}}
	shared := held(long+"3", long, "", 1<<62)
	shared.Kind, shared.Mode, shared.Owners = inspect.KindReadWrite, redlatch.ModeRead, 1<<40
	shared.Holders = append(shared.Holders, inspect.Holder{Owner: owner(3, 1), Count: 1, Write: true, Process: process}, inspect.Holder{Owner: owner(4, 1), Count: 1, Process: process})
	shared.Waiting = 1 << 40
	free := inspect.Lock{Name: strings.Repeat("שלום", 40), Kind: inspect.KindFair, Findings: paused.Findings}
	return []inspect.Lock{paused, next, shared, free}
}

// everyView opens each view of the page, and each lock.
func (s *stage) everyView(look func(view string)) {
	s.Helper()
	hashes := append([]string{"#/", "#/blocks"}, value[[]string](s, `[...document.querySelectorAll(".line")].map((e) => "#/lock/" + e.id.slice(4))`)...)
	for i, hash := range hashes {
		s.run(`location.hash = %q`, hash)
		s.until(`document.querySelectorAll("main > section:not([hidden])").length === 1 && location.hash === %q`, hash)
		s.run(`new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(null))))`)
		look(fmt.Sprintf("view %d", i))
	}
}

// Goal: no text, however long, makes a view wider than a phone, or hides what stands beside it.
func TestNoTextIsWiderThanAPhone(t *testing.T) {
	t.Parallel()
	locks := crowd()
	s := open(t, newSource(locks...), console.Options{Title: strings.Repeat("title", 50), Unlock: clientOf(t, "memory://"), Token: testToken})
	s.until(`document.querySelectorAll(".line").length === %d`, len(locks))
	const wide = `[...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.closest(".filters, .sr, .skip, .track, .cell.notes") && e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.tagName + "." + e.className + " " + e.getBoundingClientRect().right).slice(0, 5)`
	for _, width := range []int64{320, 390, 700, 1280} {
		s.do(chromedp.EmulateViewport(width, 700))
		s.everyView(func(view string) {
			if found := value[[]string](s, wide); len(found) > 0 {
				t.Errorf("%s at %d pixels: %q", view, width, found)
			}
			if narrow := value[[]int](s, `[...document.querySelectorAll(".line .name")].filter((e) => e.checkVisibility() && e.clientWidth < 50).map((e) => e.clientWidth)`); len(narrow) > 0 {
				t.Errorf("%s at %d pixels: names have %v pixels", view, width, narrow)
			}
			if !value[bool](s, `document.querySelector(".party button") === null`) {
				s.do(chromedp.Click(chromedp.CSS(".party button")))
				s.until(`document.querySelector("dialog[open]")`)
				if found := value[[]string](s, wide); len(found) > 0 {
					t.Errorf("the question in %s at %d pixels: %q", view, width, found)
				}
				s.keys(kb.Escape)
				s.until(`!document.querySelector("dialog")`)
			}
		})
	}
	s.clean()
}

// Goal: all text can be read by eyes that are not the best: WCAG 2.2, 1.4.3, wants a contrast of 4.5.
func TestTextHasContrast(t *testing.T) {
	t.Parallel()
	locks, events := shop()
	src := newSource()
	s := open(t, src, console.Options{Title: "redis://example", Unlock: clientOf(t, "memory://"), Token: testToken})
	s.until(`document.querySelector("#table .empty").textContent.startsWith("No lock")`)
	src.set(locks, events...)
	s.until(`document.querySelectorAll(".line").length > 10`)
	const faint = `(() => {
		const parse = (c) => { const n = c.match(/[\d.]+/g).map(Number); return c.startsWith("color(") ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1] : [n[0], n[1], n[2], n[3] ?? 1]; };
		const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255]; };
		const found = new Map();
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) {
			const e = walker.currentNode.parentElement;
			if (!walker.currentNode.data.trim() || !e.checkVisibility({ visibilityProperty: true }) || e.matches("option, script, :disabled")) continue;
			const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
			const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			if (ratio < 4.5) found.set(e.tagName + "." + e.className, ratio.toFixed(2));
		}
		return [...found].map((f) => f.join(" "));
	})()`
	for _, theme := range []string{"light", "dark"} {
		call(s, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
		s.everyView(func(view string) {
			if found := value[[]string](s, faint); len(found) > 0 {
				t.Errorf("%s, %s: %q", view, theme, found)
			}
		})
	}
	s.clean()
}

// Goal: a screen reader learns which view is shown.
func TestTheViewIsNamed(t *testing.T) {
	t.Parallel()
	s := open(t, newSource(held("one", owner(1, 1), "a", time.Minute)), console.Options{})
	s.until(`document.querySelectorAll(".line").length === 1`)
	for hash, link := range map[string]string{"#/": "nav-locks", "#/blocks": "nav-blocks"} {
		s.run(`location.hash = %q`, hash)
		s.until(`[...document.querySelectorAll("[aria-current=page]")].map((e) => e.id).join() === %q`, link)
	}
	s.clean()
}

// Goal: a link with the token works also where the page is open already, and does not stay in the
// address.
func TestALinkWithTheTokenInAnOpenPage(t *testing.T) {
	t.Parallel()
	s := open(t, newSource(held("one", owner(1, 1), "a", time.Minute)), console.Options{Private: true, Token: testToken})
	s.until(`document.activeElement.id === "login"`)
	s.run(`location.hash = "#token=%s"`, testToken)
	s.until(`document.querySelectorAll(".line").length === 1 && !location.href.includes("token")`)
	s.clean()
}

// Goal: the search finds who waits, however the console learned of it.
func TestTheSearchFindsWaitsThatWereReported(t *testing.T) {
	t.Parallel()
	waits := func(context.Context) ([]console.Wait, error) {
		return []console.Wait{{Lock: "two", Owner: owner(5, 5), Name: "reporter"}}, nil
	}
	s := open(t, newSource(held("one", owner(1, 1), "a", time.Minute), held("two", owner(1, 2), "a", time.Minute)), console.Options{Waits: waits})
	s.until(`document.querySelectorAll(".line").length === 2`)
	s.run(`document.querySelector("#search").focus()`)
	s.keys("reporter")
	s.until(namesNow + ` === "two"`)
	s.clean()
}

// seen are the requests that a console got.
type seen struct {
	mu   sync.Mutex
	list []string
}

func (s *seen) ServeHTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := &statusWriter{w, 200}
		next.ServeHTTP(status, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.list = append(s.list, fmt.Sprint(r.Method, " ", r.URL.Path, " ", status.code))
	})
}

type statusWriter struct {
	http.ResponseWriter
	code int
}

func (w *statusWriter) WriteHeader(code int)        { w.code = code; w.ResponseWriter.WriteHeader(code) }
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Goal: a foreign page can neither read the console, nor take a lock away, nor frame it.
func TestAForeignPageGetsNothing(t *testing.T) {
	t.Parallel()
	client, hold := holding(t, "one")
	s := open(t, newSource(held("one", hold.Owner(), "a", time.Minute)), console.Options{Unlock: client, Token: testToken})
	s.until(`document.querySelectorAll(".line").length === 1`)
	requests := &seen{}
	target := httptest.NewServer(requests.ServeHTTP(s.console))
	defer target.Close()
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>foreign</title><body></body>")
	}))
	defer foreign.Close()
	at := target.URL // an IP address; the foreign page is on localhost
	s.do(chromedp.Navigate(strings.Replace(foreign.URL, "127.0.0.1", "localhost", 1)))
	for _, try := range []string{
		`fetch("%[1]s/events")`, `fetch("%[1]s/story?lock=x")`, `fetch("%[1]s/events", { headers: { Authorization: "Bearer %[2]s" } })`,
		`fetch("%[1]s/unlock", { method: "POST", headers: { Authorization: "Bearer %[2]s", "Content-Type": "application/json" }, body: "{}" })`,
		`new Promise((yes, no) => { const e = new EventSource("%[1]s/events"); e.onmessage = e.onopen = yes; e.onerror = no; })`,
		`import("%[1]s/app.js")`,
		`new Promise((yes, no) => { const e = document.createElement("script"); e.src = "%[1]s/theme.js"; e.onload = yes; e.onerror = no; document.body.append(e); })`,
		`new Promise((yes, no) => { const e = document.createElement("img"); e.src = "%[1]s/icon.svg"; e.onload = yes; e.onerror = no; document.body.append(e); })`,
	} {
		if value[bool](s, `%s.then(() => true, () => false)`, fmt.Sprintf(try, at, testToken)) {
			t.Errorf("a foreign page may: %s", fmt.Sprintf(try, at, testToken))
		}
	}
	s.run(`fetch("%s/unlock", { method: "POST", mode: "no-cors", body: "{}" }).catch(() => null)`, at)
	s.run(`new Promise((done) => { const e = document.createElement("iframe"); e.src = "%s/"; e.onload = done; document.body.append(e); })`, at)
	requests.mu.Lock()
	defer requests.mu.Unlock()
	for _, r := range requests.list {
		if strings.HasSuffix(r, " 200") && strings.ContainsAny(strings.Fields(r)[1][1:], "es") && !strings.Contains(r, ".") {
			t.Errorf("the console answered %s", r)
		}
	}
	if !strings.Contains(strings.Join(requests.list, "\n"), "POST /unlock 403") {
		t.Errorf("the console got %q", requests.list)
	}
}
