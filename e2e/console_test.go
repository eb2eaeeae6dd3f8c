package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/console"
	"github.com/redlatch/redlatch/inspect"
)

// line is the row of a lock in the table.
func line(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".line")].find((e) => e.querySelector(".name").textContent === %q)`, name)
}

// Goal: the table fills, a bar runs down by itself and jumps at a renewal, and a lock that is released
// vanishes.
func TestTheTableLives(t *testing.T) {
	t.Parallel()
	first, second := held("orders:1", owner(1, 1), "checkout", 20*time.Second), held("orders:2", owner(2, 1), "", 20*time.Second)
	src := newSource(first, second)
	s := open(t, src, console.Options{Title: "redis://example"})
	s.until(`document.querySelectorAll(".line").length === 2`)
	s.until(`document.querySelector("#state").dataset.state === "live" && document.querySelector("#server").textContent === "redis://example"`)
	if got := s.names(); got != "orders:1 orders:2" {
		t.Errorf("the table has %q", got)
	}
	width := line("orders:1") + `.querySelector(".track i").getBoundingClientRect().width / ` + line("orders:1") + `.querySelector(".track").getBoundingClientRect().width`
	began := value[float64](s, `%s`, width)
	s.until(`%s < %v - 0.02`, width, began) // by the browser alone: nothing was sent
	if began < 0.8 || began > 1 {
		t.Errorf("the bar began at %v", began)
	}
	first.TTL, first.Seen = 40*time.Second, time.Now()
	first.Holders[0].TTL = first.TTL
	src.set([]inspect.Lock{first, second})
	s.until(`%s > 0.97`, width)
	s.until(`/^(39|40) s$/.test(%s.querySelector(".left").textContent)`, line("orders:1"))
	src.set([]inspect.Lock{first})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.clean()
}

func TestSearchSortAndFilters(t *testing.T) {
	t.Parallel()
	a, b, c := held("job:10", owner(1, 1), "beta", 30*time.Second), held("job:9", owner(2, 1), "alpha", 10*time.Second), held("other", owner(3, 1), "", 20*time.Second)
	b.Waiting = 7
	c.Findings = []inspect.Finding{{Code: "no-ttl", Text: "the key has no expiry"}}
	s := open(t, newSource(a, b, c), console.Options{})
	s.until(`document.querySelectorAll(".line").length === 3`)
	if got := s.names(); got != "job:9 job:10 other" {
		t.Errorf("by name: %q", got)
	}
	for _, sort := range []struct{ column, want string }{
		{"holder", "other job:9 job:10"}, {"left", "job:9 other job:10"}, {"waits", "job:9 job:10 other"}, {"notes", "other job:9 job:10"}, {"notes", "job:9 job:10 other"},
	} {
		s.do(chromedp.Click(chromedp.CSS(".by-" + sort.column)))
		s.until(namesNow+` === %q`, sort.want)
	}
	s.do(chromedp.Click(chromedp.CSS(".chip.findings")))
	s.until(`document.querySelectorAll(".line").length === 1`)
	if got := s.names(); got != "other" {
		t.Errorf("with findings: %q", got)
	}
	s.do(chromedp.Click(chromedp.CSS(".chip.all")))
	s.keys("/") // the search
	s.keys("JOB beta")
	s.until(`document.querySelectorAll(".line").length === 1`)
	if got := s.names(); got != "job:10" {
		t.Errorf("searched: %q", got)
	}
	s.keys("zzz")
	s.until(`document.querySelector("#table .empty").checkVisibility() && document.querySelector("#table .empty").textContent === "No lock matches."`)
	s.clean()
}

// Goal: a key that follows "/" before the next frame is drawn belongs to the search.
func TestFastKeysAreSearchedFor(t *testing.T) {
	t.Parallel()
	s := open(t, newSource(held("job", owner(1, 1), "", 30*time.Second)), console.Options{})
	s.until(`document.querySelectorAll(".line").length === 1`)
	for _, from := range []string{"#/", "#/blocks"} {
		s.run(`location.hash = %q`, from)
		s.until(`document.querySelector("#view-blocks").checkVisibility() === %t`, from == "#/blocks")
		focus := value[string](s, `(() => {
			document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true}));
			return document.activeElement.id;
		})()`)
		if focus != "search" {
			t.Errorf("from %s: the focus is on %q", from, focus)
		}
		s.run(`new Promise((done) => setTimeout(done, 100))`) // for what comes late
		if focus := value[string](s, `document.activeElement.id`); focus != "search" {
			t.Errorf("from %s: the focus went on to %q", from, focus)
		}
	}
	s.clean()
}

// Goal: everything can be reached and done with the keyboard, and what has the focus can be seen.
func TestTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	client := clientOf(t, "memory://")
	hold, err := client.Mutex("job:2").TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	src := newSource(held("job:1", owner(1, 1), "a", time.Minute), held("job:2", hold.Owner(), "b", time.Minute))
	s := open(t, src, console.Options{Unlock: client, Token: testToken})
	s.until(`document.querySelectorAll(".line").length === 2`)
	s.keys("?")
	s.until(`document.querySelector("dialog.keys[open]")`)
	s.keys(kb.Escape)
	s.until(`!document.querySelector("dialog")`)
	s.keys(kb.ArrowDown + kb.ArrowDown)
	s.until(`document.querySelector(".line.selected .name")?.textContent === "job:2"`)
	if !value[bool](s, `getComputedStyle(document.querySelector(".line.selected")).boxShadow.includes("inset") && document.querySelector(".grid").getAttribute("aria-activedescendant") === document.querySelector(".line.selected").id`) {
		t.Error("the focus cannot be seen")
	}
	s.keys(kb.Enter)
	s.until(`document.querySelector("h1")?.textContent === "job:2"`)
	for range 12 { // to the button, wherever it stands
		if value[bool](s, `document.activeElement.textContent === "Take away…"`) {
			break
		}
		s.keys(kb.Tab)
	}
	if !value[bool](s, `getComputedStyle(document.activeElement).outlineStyle === "solid"`) {
		t.Error("the focus on the button cannot be seen")
	}
	renewed := held("job:2", hold.Owner(), "b", 2*time.Minute)
	src.set([]inspect.Lock{renewed})
	s.until(`document.querySelector(".party .left").textContent === "2 min" || document.querySelector(".party .left").textContent === "1 min"`)
	s.keys(kb.Enter) // the button was drawn anew, and has the focus still
	s.until(`document.activeElement.id === "token"`)
	s.keys(testToken + kb.Tab + kb.Tab + kb.Tab + kb.Enter)
	s.until(`!document.querySelector("dialog")`)
	if status, err := client.Mutex("job:2").Status(t.Context()); err != nil || status.Locked {
		t.Errorf("it is still held: %v, %v", status.Locked, err)
	}
	s.keys(kb.Escape)
	s.until(`document.querySelector("#view-locks").checkVisibility() && document.activeElement.matches(".grid")`)
	s.keys("b")
	s.until(`document.querySelector("#view-blocks").checkVisibility()`)
	s.keys("l")
	s.until(`document.querySelector("#view-locks").checkVisibility()`)
	for _, theme := range []string{"light", "dark", "auto"} {
		s.keys("t")
		s.until(`document.documentElement.dataset.theme === %q`, theme)
	}
	s.clean()
}

// Goal: the page of a lock has its holders, its queue in order and a timeline of what happened, also
// after the lock is gone.
func TestTheStoryOfALock(t *testing.T) {
	t.Parallel()
	lock := held("job", owner(1, 1), "first", time.Minute)
	lock.Kind, lock.Queued = inspect.KindFair, 2
	lock.Queue = []inspect.Waiter{{Owner: owner(2, 1), Process: &inspect.Process{Name: "second"}, Deadline: time.Now().Add(time.Minute)}, {Owner: owner(3, 1), Deadline: time.Now().Add(-time.Minute)}}
	event := func(kind inspect.EventKind, p int, text string) inspect.Event {
		return inspect.Event{At: time.Now(), Lock: "job", Kind: kind, Owner: owner(p, 1), Text: text}
	}
	src := newSource(lock)
	s := open(t, src, console.Options{})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.do(chromedp.Click(chromedp.CSS(".line")))
	s.until(`document.querySelectorAll(".queue li").length === 2`)
	if got := value[[]string](s, `[...document.querySelectorAll(".queue strong")].map((e) => e.textContent)`); got[0] != "second" || !strings.HasSuffix(got[1], ":1") {
		t.Errorf("the queue is %q", got)
	}
	s.until(`document.querySelectorAll(".queue .detail")[1].textContent === "its keep-alive is overdue"`)
	s.until(`document.querySelectorAll(".lane").length === 3 && document.querySelectorAll(".span.hold").length === 1 && document.querySelectorAll(".span.wait").length === 2`)
	next := held("job", owner(2, 1), "second", time.Minute)
	src.set([]inspect.Lock{next}, event(inspect.EventForced, 1, "taken away"), event(inspect.EventGranted, 2, "granted"))
	s.until(`document.querySelectorAll(".tick.forced").length === 1 && document.querySelectorAll(".span.hold").length === 2`)
	src.set(nil, event(inspect.EventReleased, 2, "released"))
	s.until(`document.querySelector(".sub").textContent.includes("Nobody holds it")`)
	s.until(`document.querySelectorAll(".events li").length === 3 && document.querySelector(".events li b").textContent === "released"`)
	if got := value[string](s, `document.querySelector("h1").textContent`); got != "job" {
		t.Errorf("the name is %q", got)
	}
	s.clean()
}

func TestForceUnlockInTheBrowser(t *testing.T) {
	t.Parallel()
	client := clientOf(t, "memory://")
	lock := client.Mutex("job")
	hold, err := lock.TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	src := newSource(held("job", hold.Owner(), "worker-7", time.Minute))
	s := open(t, src, console.Options{Unlock: client, Token: testToken})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.do(chromedp.Click(chromedp.CSS(".line")), chromedp.Click(chromedp.CSS(".party button")))
	s.until(`document.querySelector("dialog[open] dl").textContent.includes("worker-7") && document.querySelector("dialog dl").textContent.includes(%q)`, hold.Owner())
	s.keys("wrong" + kb.Enter)
	s.until(`document.querySelector("dialog .error").textContent.includes("wrong")`)
	if status, _ := lock.Status(t.Context()); !status.Locked {
		t.Fatal("a wrong token took it away")
	}
	// The owner changes while the question stands.
	if err := hold.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, err := lock.TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.keys(testToken + kb.Enter)
	s.until(`document.querySelector("dialog .error").textContent.includes("another owner") && document.querySelector("dialog .danger").disabled`)
	if status, _ := lock.Status(t.Context()); !status.Locked {
		t.Fatal("the next owner lost it")
	}
	s.keys(kb.Escape)
	s.until(`!document.querySelector("dialog")`)
	src.set([]inspect.Lock{held("job", next.Owner(), "worker-8", time.Minute)})
	s.until(`document.querySelector(".party strong")?.textContent === "worker-8"`)
	s.do(chromedp.Click(chromedp.CSS(".party button")))
	s.until(`document.querySelector("dialog[open]")`)
	s.run(`document.querySelector("#token").focus()`)
	s.keys(testToken)
	s.run(`document.querySelector("#reason").focus()`)
	s.keys("a deployment" + kb.Enter)
	s.until(`!document.querySelector("dialog")`)
	if status, _ := lock.Status(t.Context()); len(status.Holders) != 1 || status.Holders[0].Recall == nil || status.Holders[0].Recall.Reason != "a deployment" {
		t.Errorf("it was not asked for: %+v", status)
	}
	asked := held("job", next.Owner(), "worker-8", time.Minute)
	asked.Holders[0].Noted = inspect.Noted{Note: "nightly", Recall: &redlatch.RecalledError{Author: "ops", Reason: "a deployment"}}
	src.set([]inspect.Lock{asked})
	s.until(`document.querySelector(".party .note")?.textContent === "nightly" && document.querySelector(".party .mark").textContent.includes("does not know yet")`)
	s.do(chromedp.Click(chromedp.CSS(".party button")))
	s.until(`document.querySelector("dialog[open]").textContent.includes("ops asks for it: a deployment")`)
	s.do(chromedp.Click(chromedp.CSS("dialog .danger")))
	s.until(`!document.querySelector("dialog")`)
	if status, _ := lock.Status(t.Context()); status.Locked {
		t.Error("the right token did not take it away")
	}
	s.until(`document.querySelector('.events [data-kind="forced"]')`)
	s.clean()
}

// Goal: nothing that stands in Redis becomes part of the page but as text.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	names := []string{
		`<img src=x onerror="window.broken=1">`, `"><script>window.broken=1</script>`, "\u202etxt.exe", "a\x00b\x1b[2J", "\xff\xfe", "javascript:window.broken=1", strings.Repeat("n", 64<<10), "__proto__", "' or 1=1",
	}
	var locks []inspect.Lock
	for _, name := range names {
		l := held(name, name, "", time.Minute)
		l.Holders[0].Process = &inspect.Process{Client: name, Name: name, Addr: name}
		l.Holders[0].Noted = inspect.Noted{Note: name, Recall: &redlatch.RecalledError{Author: name, Reason: name}}
		l.Findings = []inspect.Finding{{Code: "some", Text: name}}
		l.Queue = []inspect.Waiter{{Owner: name + "2", Process: l.Holders[0].Process}}
		locks = append(locks, l)
	}
	src := newSource(locks...)
	s := open(t, src, console.Options{Title: names[0]})
	s.until(`document.querySelectorAll(".line").length === %d`, len(names))
	for i := range names {
		s.run(`location.hash = [...document.querySelectorAll(".line")].map((e) => "#/lock/" + e.id.slice(4))[%d]`, i)
		s.until(`document.querySelector("#view-lock").checkVisibility() && document.querySelectorAll(".queue li").length === 1`)
		s.run(`location.hash = "#/"`)
		s.until(`document.querySelector("#view-locks").checkVisibility()`)
	}
	s.run(`location.hash = "#/blocks"`)
	s.until(`document.querySelectorAll(".tree").length > 0`)
	if value[bool](s, `"broken" in window || document.querySelectorAll("img, main script").length > 0 || /[\u202e\0\x1b\ufffd]/.test(document.body.textContent) || document.body.textContent.length > 50000 || document.documentElement.scrollWidth > innerWidth`) {
		t.Error("a name has become more than text, or makes the page wider than the window")
	}
	s.clean()
}

// Goal: the page says that the console is away, or Redis, and comes back by itself.
func TestThePageComesBack(t *testing.T) {
	t.Parallel()
	src := newSource(held("before", owner(1, 1), "a", time.Minute))
	s := open(t, src, console.Options{})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.stop()
	s.until(`document.querySelector("#state").dataset.state === "away" && document.querySelector("#banner").checkVisibility() && document.body.classList.contains("old")`)
	src.set([]inspect.Lock{held("after", owner(1, 1), "a", time.Minute)})
	s.serve()
	s.until(`document.querySelector("#state").dataset.state === "live" && !document.querySelector("#banner").checkVisibility() && !document.body.classList.contains("old")`)
	s.until(`%s && document.querySelectorAll(".line").length === 1`, line("after"))
	src.fail(errors.New("dial tcp 127.0.0.1:6379: connect: connection refused"))
	s.until(`document.querySelector("#state").dataset.state === "trouble" && document.querySelector("#banner").textContent.includes("connection refused")`)
	src.set([]inspect.Lock{held("again", owner(1, 1), "a", time.Minute)})
	s.until(`document.querySelector("#state").dataset.state === "live" && %s`, line("again"))
	s.clean()
}

// Goal: a paused view stands still and then shows all that has changed.
func TestPause(t *testing.T) {
	t.Parallel()
	src := newSource(held("one", owner(1, 1), "a", time.Minute))
	s := open(t, src, console.Options{})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.keys("p")
	s.until(`document.querySelector("#pause").getAttribute("aria-pressed") === "true"`)
	src.set([]inspect.Lock{held("two", owner(1, 1), "a", time.Minute)})
	s.until(`document.querySelector("#state").textContent.includes("2 changes")`)
	width := `document.querySelector(".track i").getBoundingClientRect().width`
	if got, before := s.names(), value[float64](s, `%s`, width); got != "one" || value[float64](s, `%s`, width) != before {
		t.Errorf("the view shows %q, or its bar moves", got)
	}
	s.keys("p")
	s.until(`document.querySelectorAll(".line").length === 1 && %s`, line("two"))
	s.clean()
}

// Goal: where everything needs the token, the page asks for it, and takes it from a link as well.
func TestAPrivateConsoleAsksForItsToken(t *testing.T) {
	t.Parallel()
	s := open(t, newSource(held("one", owner(1, 1), "a", time.Minute)), console.Options{Private: true, Token: testToken})
	s.until(`document.activeElement.id === "login"`)
	s.keys("wrong" + kb.Enter)
	s.until(`document.querySelector("#view-token .error").textContent.includes("wrong")`)
	s.keys(testToken + kb.Enter)
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.run(`sessionStorage.clear()`)
	s.do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.url()+"#token="+testToken))
	s.until(`document.querySelectorAll(".line").length === 1 && !location.href.includes("token")`)
	s.clean()
}

// Goal: who blocks whom is a tree below the root blocker, through fair queues and through what
// processes tell, and a cycle is called one.
func TestTheTreeOfBlockers(t *testing.T) {
	t.Parallel()
	queue := func(l inspect.Lock, owners ...string) inspect.Lock {
		l.Kind = inspect.KindFair
		for _, o := range owners {
			l.Queue = append(l.Queue, inspect.Waiter{Owner: o, Deadline: time.Now().Add(time.Minute)})
		}
		return l
	}
	locks := []inspect.Lock{
		queue(held("root", owner(1, 1), "one", time.Minute), owner(2, 1), owner(3, 1)),
		queue(held("middle", owner(2, 1), "two", time.Minute), owner(4, 1)),
		held("leaf", owner(4, 9), "four", time.Minute), // its goroutine is another, its process the same
		queue(held("x", owner(7, 1), "seven", time.Minute), owner(8, 1)), queue(held("y", owner(8, 1), "eight", time.Minute), owner(7, 1)),
		held("p", owner(11, 1), "eleven", time.Minute), held("q", owner(12, 1), "twelve", time.Minute),
		{Name: "reads", Kind: inspect.KindReadWrite, Mode: redlatch.ModeRead, Owners: 1, TTL: time.Minute, Waiting: 2, Holders: []inspect.Holder{{Owner: owner(9, 1), Count: 1, TTL: time.Minute}}},
	}
	waits := func(context.Context) ([]console.Wait, error) {
		return []console.Wait{
			{Lock: "leaf", Owner: owner(5, 5), Name: "five", Under: []string{owner(5, 6)}},
			{Lock: "p", Owner: owner(12, 2), Under: []string{owner(12, 1)}, Certain: true},
			{Lock: "q", Owner: owner(11, 2), Under: []string{owner(11, 1)}, Certain: true},
		}, nil
	}
	s := open(t, newSource(locks...), console.Options{Waits: waits})
	s.until(`document.querySelectorAll(".line").length === %d`, len(locks))
	s.keys("b")
	s.until(`document.querySelectorAll(".tree").length === 4`)
	roots := value[[]string](s, `[...document.querySelectorAll(".tree > .node > .node-head > .name")].map((e) => e.textContent)`)
	if got := strings.Join(roots, " "); got != "p x root reads" {
		t.Errorf("the roots are %q", got)
	}
	text := value[[]string](s, `[...document.querySelectorAll(".tree")].map((e) => e.innerText.replace(/\s+/g, " "))`)
	for i, want := range [][]string{{"cycle", "q"}, {"possible cycle", "y"}, {"held by one", "middle", "its process holds", "leaf", "five", "blocks 4"}, {"2 processes listen"}} {
		for _, w := range want {
			if !strings.Contains(text[i], w) {
				t.Errorf("tree %d lacks %q: %s", i, w, text[i])
			}
		}
	}
	if strings.Contains(text[0], "possible") || strings.Contains(text[2], "cycle") {
		t.Errorf("a cycle is not what it is called: %q", text)
	}
	s.clean()
}

// Goal: the page says how many wait for a lock, also if its row lists fewer. Method: one lock has a long queue. Many clients
// report that they wait for another one. An owner that does both counts once.
func TestVeryManyWhoWaitAreCounted(t *testing.T) {
	t.Parallel()
	fair, plain := held("fair", owner(1, 1), "one", time.Minute), held("plain", owner(2, 1), "two", time.Minute)
	fair.Kind, fair.Queued = inspect.KindFair, 1200
	for i := range 1000 { // the rest is not read
		fair.Queue = append(fair.Queue, inspect.Waiter{Owner: owner(3, i), Deadline: time.Now().Add(time.Minute)})
	}
	waits := func(context.Context) (waits []console.Wait, _ error) {
		for i := range 900 {
			waits = append(waits, console.Wait{Lock: "plain", Owner: owner(4, i)}, console.Wait{Lock: "fair", Owner: owner(3, i)})
		}
		return waits, nil
	}
	s := open(t, newSource(fair, plain), console.Options{Waits: waits})
	s.keys("b")
	s.until(`[...document.querySelectorAll(".tree .weight")].map((e) => e.textContent).join() === "blocks 1,200,blocks 900"`)
	s.until(`[...document.querySelectorAll(".tree .rest")].map((e) => e.textContent).join() === "and 1,150 more,and 850 more"`)
	s.clean()
}

// Goal: on a phone nothing is cut off, and who wants less motion gets none.
func TestPhoneWidthAndLessMotion(t *testing.T) {
	t.Parallel()
	lock := held("a-lock-with-a-name-that-is-rather-long:and-goes-on:0123456789", owner(1, 1), "a-process-with-a-long-name-too", 20*time.Second)
	lock.Kind, lock.Queue = inspect.KindFair, []inspect.Waiter{{Owner: owner(2, 1), Process: &inspect.Process{Name: "another-process-with-a-long-name", Addr: "[2001:db8::1234:5678]:54321"}}}
	lock.Findings = []inspect.Finding{{Code: "queue-mismatch", Text: "list and set disagree"}}
	s := open(t, newSource(lock), console.Options{})
	s.until(`document.querySelector(".track i")?.getAnimations().length === 1`)
	s.do(chromedp.EmulateViewport(360, 740))
	call(s, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}})
	s.until(`document.getAnimations().length === 0`)
	s.until(`document.querySelector(".left").textContent === "17 s"`) // it still counts
	for _, hash := range []string{"#/", "#/blocks", "#/lock/" + value[string](s, `document.querySelector(".line").id.slice(4)`)} {
		s.run(`location.hash = %q`, hash)
		s.until(`document.querySelectorAll("main > section:not([hidden])").length === 1 && location.hash === %q`, hash)
		if wide := value[int](s, `Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll("main *, header *")].filter((e) => e.checkVisibility() && !e.closest(".filters")).map((e) => Math.ceil(e.getBoundingClientRect().right)))`); wide > 360 {
			t.Errorf("%s is %d pixels wide", hash, wide)
		}
	}
	s.clean()
}
