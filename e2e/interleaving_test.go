package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redlatch/redlatch/console"
	"github.com/redlatch/redlatch/inspect"
)

// Goal: the page of a lock says nothing about a lock that was not read yet.
func TestALinkToALockThatIsNotReadYet(t *testing.T) {
	t.Parallel()
	src := newSource(held("job", owner(1, 1), "a", time.Minute))
	src.unwalked = true
	s := open(t, src, console.Options{})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.run(`location.hash = "#/lock/AAAAAAAAAAAAAAAAAAAAAA"`)
	s.until(`document.querySelector("#view-lock").checkVisibility()`)
	if text := value[string](s, `document.querySelector("#view-lock .lock-head").innerText`); text != "A lock\n\nLooking for it." {
		t.Errorf("while keys are looked at, the page says %q", text)
	}
	src.mu.Lock()
	src.unwalked = false
	src.mu.Unlock()
	src.set(src.locks)
	s.until(`document.querySelector(".lock-head .sub").textContent.includes("Nobody holds it")`)
	s.clean()
}

// Goal: an empty table says that there is no lock, when that is known.
func TestAnEmptyServerIsCalledOne(t *testing.T) {
	t.Parallel()
	src := newSource()
	src.unwalked = true
	s := open(t, src, console.Options{})
	s.until(`document.querySelector("#table .empty").textContent === "Looking for locks."`)
	src.mu.Lock()
	src.unwalked = false
	src.mu.Unlock()
	s.until(`document.querySelector("#table .empty").textContent === "No lock is held or waited for."`)
	s.clean()
}

// Goal: the page of a lock goes on with the events of a console that was started anew.
func TestEventsAfterARestartOfTheConsole(t *testing.T) {
	t.Parallel()
	event := func(text string) inspect.Event {
		return inspect.Event{At: time.Now(), Lock: "job", Kind: inspect.EventRenewed, Owner: owner(1, 1), Text: text}
	}
	lock := held("job", owner(1, 1), "a", time.Minute)
	src := newSource(lock)
	s := open(t, src, console.Options{})
	s.until(`document.querySelectorAll(".line").length === 1`)
	src.set([]inspect.Lock{held("job", owner(1, 1), "a", 2*time.Minute)}, event("one"), event("two"), event("three"))
	s.do(chromedp.Click(chromedp.CSS(".line")))
	s.until(`document.querySelectorAll(".events [data-kind=renewed]").length === 3`)
	s.stop()
	s.until(`document.querySelector("#state").dataset.state === "away"`)
	s.serve()
	s.until(`document.querySelector("#state").dataset.state === "live"`)
	src.set([]inspect.Lock{held("job", owner(1, 1), "a", 3*time.Minute)}, event("after the restart"))
	s.until(`document.querySelector(".events").textContent.includes("after the restart")`)
	s.clean()
}

// Goal: keys count in the order in which they are pressed, also if the page has not moved yet.
func TestKeysInQuickSuccession(t *testing.T) {
	t.Parallel()
	s := open(t, newSource(held("job", owner(1, 1), "a", time.Minute)), console.Options{})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.keys(kb.ArrowDown)
	press := `for (const key of [%s]) (document.activeElement || document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }))`
	s.run(press, `"Enter", "Escape"`)
	s.until(`new Promise((r) => setTimeout(() => r(document.querySelector("#view-locks").checkVisibility() && document.activeElement.matches(".grid")), 300))`)
	s.run(press, `"b", "Escape", "ArrowDown", "Enter"`)
	s.until(`new Promise((r) => setTimeout(() => r(document.querySelector("h1")?.checkVisibility() && document.querySelector("h1").textContent === "job"), 300))`)
	s.clean()
}

// Goal: an answer that is none of the console's is no connection, and is asked for ever more seldom.
func TestALoginPageInFrontOfTheConsole(t *testing.T) {
	t.Parallel()
	src := newSource(held("one", owner(1, 1), "a", time.Minute))
	s := open(t, src, console.Options{})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.stop()
	var asked atomic.Int32
	s.wrap = func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>Log in, please.</html>")
		})
	}
	s.run(`{ window.lives = 0; new MutationObserver(() => { if (document.querySelector("#state").dataset.state === "live") lives++; }).observe(document.querySelector("#state"), { attributes: true }); }`)
	s.serve()
	s.until(`document.querySelector("#banner").textContent.includes("another program")`)
	s.until(`new Promise((r) => setTimeout(() => r(true), 3000))`)
	if n := asked.Load(); n > 5 {
		t.Errorf("it asked %d times", n)
	}
	if n := value[int](s, `lives`); n > 0 {
		t.Errorf("the page said %d times that it is live", n)
	}
	s.clean()
}

// Goal: a chain of waiters of any length is drawn, and the page goes on.
func TestALongChainOfWaiters(t *testing.T) {
	t.Parallel()
	var locks []inspect.Lock
	for i := range 4000 {
		l := held(fmt.Sprintf("chain:%d", i), owner(1, i), "", time.Minute)
		l.Kind, l.Queue = inspect.KindFair, []inspect.Waiter{{Owner: owner(1, i+1), Deadline: time.Now().Add(time.Minute)}}
		locks = append(locks, l)
	}
	s := open(t, newSource(locks...), console.Options{})
	s.until(`document.querySelector(".chip.all .num").textContent === "4,000"`)
	s.run(`location.hash = "#/blocks"`)
	s.until(`document.querySelectorAll(".tree .node").length > 10`)
	s.until(`document.querySelector("#state").dataset.state === "live"`)
	s.until(`document.querySelector(".tree .weight").textContent === "blocks 4,000"`)
	s.clean()
}

// Goal: a clock that is set while the page looks, changes nothing for long.
func TestAClockThatIsSet(t *testing.T) {
	t.Parallel()
	for _, by := range []int{3600e3, -3600e3} {
		t.Run(fmt.Sprint(by), func(t *testing.T) { aClockThatIsSet(t, by) })
	}
}

func aClockThatIsSet(t *testing.T, by int) {
	t.Parallel()
	src := newSource(held("one", owner(1, 1), "a", time.Minute))
	s := open(t, src, console.Options{})
	s.until(`/^\d\d s$/.test(document.querySelector(".line .left")?.textContent)`)
	s.run(`{ const real = Date.now; Date.now = () => real() + (%d); }`, by)
	s.until(`/^\d\d s$/.test(document.querySelector(".line .left").textContent) === false`)
	src.set([]inspect.Lock{held("one", owner(1, 1), "a", 80*time.Second)})
	s.until(`/^\d\d s$/.test(document.querySelector(".line .left").textContent)`)
	width := `document.querySelector(".track i").getBoundingClientRect().width / document.querySelector(".track").getBoundingClientRect().width`
	s.until(`%s > 0.6`, width)
	began := value[float64](s, `%s`, width)
	s.until(`%s < %v - 0.02`, width, began)
	s.clean()
}

// Goal: after a forced unlock the timeline has the hold that was taken, and none before it.
func TestTheTimelineOfAForcedUnlock(t *testing.T) {
	t.Parallel()
	src := newSource()
	src.ago = 20 * time.Second
	s := open(t, src, console.Options{})
	s.until(`document.querySelector("#table .empty").textContent.includes("No lock is held")`)
	at := time.Now()
	event := func(kind inspect.EventKind, after time.Duration) inspect.Event {
		return inspect.Event{At: at.Add(after), Lock: "job", Kind: kind, Owner: owner(1, 1), Text: string(kind)}
	}
	src.set([]inspect.Lock{held("job", owner(1, 1), "a", time.Minute)}, event(inspect.EventGranted, 0), event(inspect.EventReleased, 100*time.Millisecond), event(inspect.EventForced, 110*time.Millisecond))
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.do(chromedp.Click(chromedp.CSS(".line")))
	s.until(`document.querySelectorAll(".events li").length === 3`)
	src.set(nil)
	s.until(`document.querySelector(".sub").textContent.includes("Nobody holds it")`)
	if n := value[int](s, `[...document.querySelectorAll(".span.hold")].filter((e) => e.style.left === "0%%" || parseFloat(e.style.width) > 1).length`); n > 0 {
		t.Error("the timeline shows that it was held for longer than it was")
	}
	s.clean()
}

// Goal: a page in the background, where nothing is drawn, keeps nothing of locks that come and go.
func TestAPageInTheBackgroundGathersNothing(t *testing.T) {
	t.Parallel()
	src := newSource()
	s := open(t, src, console.Options{})
	s.until(`document.querySelector("#table .empty").textContent.includes("No lock is held")`)
	s.run(`{
		window.drawn = requestAnimationFrame;
		window.requestAnimationFrame = () => 1; // as in a tab that is not seen
		window.largest = 0;
		const add = Set.prototype.add;
		Set.prototype.add = function (v) { const r = add.call(this, v); largest = Math.max(largest, this.size); return r; };
	}`)
	for round := range 20 {
		var locks []inspect.Lock
		for i := range 100 {
			locks = append(locks, held(fmt.Sprintf("%d:%d", round, i), owner(1, i), "", time.Minute))
		}
		src.set(locks)
		s.run(`new Promise((r) => setTimeout(() => r(null), 60))`)
	}
	if n := value[int](s, `largest`); n > 500 {
		t.Errorf("it keeps %d names of 100 locks", n)
	}
}

// Goal: the page of a lock that is opened while the view stands still has its story.
func TestALockThatIsOpenedWhileTheViewIsPaused(t *testing.T) {
	t.Parallel()
	src := newSource()
	s := open(t, src, console.Options{})
	src.set([]inspect.Lock{held("job", owner(1, 1), "a", time.Minute)}, inspect.Event{At: time.Now(), Lock: "job", Kind: inspect.EventGranted, Owner: owner(1, 1), Text: "then"})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.keys("p")
	src.set(nil, inspect.Event{At: time.Now().Add(time.Second), Lock: "job", Kind: inspect.EventReleased, Owner: owner(1, 1), Text: "later"})
	s.until(`document.querySelector("#state").textContent.includes("1 changes")`)
	s.do(chromedp.Click(chromedp.CSS(".line")))
	s.until(`document.querySelector(".events").textContent.includes("then") && !document.querySelector(".events").textContent.includes("later")`)
	s.keys("p")
	s.until(`document.querySelector(".events").textContent.includes("later")`)
	s.clean()
}

// Goal: a click counts also if the lock changes while the mouse button is down.
func TestAClickDuringAChange(t *testing.T) {
	t.Parallel()
	client, hold := holding(t, "job")
	src := newSource(held("job", hold.Owner(), "a", time.Minute))
	s := open(t, src, console.Options{Unlock: client, Token: testToken})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.do(chromedp.Click(chromedp.CSS(".line")))
	s.until(`document.querySelector(".party button")`)
	at := value[[]float64](s, `(() => { const b = document.querySelector(".party button").getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()`)
	s.mouse("mousePressed", at)
	src.set([]inspect.Lock{held("job", hold.Owner(), "a", 3*time.Minute)})
	s.until(`new Promise((r) => setTimeout(() => r(true), 500))`)
	s.mouse("mouseReleased", at)
	s.until(`document.querySelector("dialog[open]")`)
	s.keys(kb.Escape)
	s.until(`/^[23] min$/.test(document.querySelector(".party .left").textContent)`)
	s.clean()
}

// Goal: an answer that never comes, as behind a proxy that has lost it, stops neither the story nor the
// question.
func TestAnAnswerThatNeverComes(t *testing.T) {
	t.Parallel()
	client, hold := holding(t, "job")
	src := newSource(held("job", hold.Owner(), "a", time.Minute))
	s := open(t, src, console.Options{Unlock: client, Token: testToken})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.run(`{
		const real = fetch, timeout = AbortSignal.timeout;
		AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms / 100);
		window.lost = 2;
		window.fetch = (what, how) => what === "events" || lost-- <= 0 ? real(what, how) : real(what, how).then(() => new Promise((_, no) => how.signal?.addEventListener("abort", () => no(how.signal.reason))));
	}`)
	s.do(chromedp.Click(chromedp.CSS(".line")), chromedp.Click(chromedp.CSS(".party button")))
	s.keys(testToken)
	s.do(chromedp.Click(chromedp.CSS("dialog .danger")))
	s.until(`document.querySelector("dialog .error").textContent.includes("unknown")`)
	s.do(chromedp.Click(chromedp.CSS("dialog .danger")))
	s.until(`!document.querySelector("dialog")`)
	s.until(`document.querySelectorAll('.events [data-kind="forced"]').length === 1`)
	s.clean()
}

// Goal: a proxy in front that ends the stream of the console without an error is no end of the page.
func TestAStreamThatEndsBeforeTheTableIsComplete(t *testing.T) {
	t.Parallel()
	src := newSource(held("one", owner(1, 1), "a", time.Minute))
	s := open(t, src, console.Options{})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.stop()
	var cut atomic.Int32
	s.wrap = func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/admin/locks/events" && cut.Add(1) <= 2 {
				w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
				fmt.Fprint(w, "event: hello\ndata: {\"title\":\"t\",\"total\":1,\"at\":1}\n\nevent: rows\ndata: {\"set\":[")
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	s.serve()
	s.until(`document.querySelector("#state").dataset.state === "live" && document.querySelectorAll(".line").length === 1`)
	src.fail(errors.New("x"))
	s.until(`document.querySelector("#state").dataset.state === "trouble"`)
	s.clean()
}

// Goal: a page that came by the link with the token does not ask for it again.
func TestTheTokenOfTheLinkTakesALockAway(t *testing.T) {
	t.Parallel()
	client, hold := holding(t, "job")
	s := open(t, newSource(held("job", hold.Owner(), "a", time.Minute)), console.Options{Unlock: client, Token: testToken})
	s.do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.url()+"#token="+testToken))
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.do(chromedp.Click(chromedp.CSS(".line")), chromedp.Click(chromedp.CSS(".party button")), chromedp.Click(chromedp.CSS("dialog .danger")))
	s.until(`!document.querySelector("dialog")`)
	if status, _ := client.Mutex("job").Status(t.Context()); status.Locked {
		t.Error("it is still held")
	}
	s.clean()
}

// Goal: the answer is shown also to a viewer who has closed the question meanwhile.
func TestAnAnswerAfterTheQuestionWasClosed(t *testing.T) {
	t.Parallel()
	client, hold := holding(t, "job")
	s := open(t, newSource(held("job", hold.Owner(), "a", time.Minute)), console.Options{Unlock: client, Token: testToken})
	s.until(`document.querySelectorAll(".line").length === 1`)
	s.do(chromedp.Click(chromedp.CSS(".line")), chromedp.Click(chromedp.CSS(".party button")))
	s.run(`{
		const real = fetch;
		window.fetch = async (what, how) => {
			if (what === "unlock") await new Promise((r) => (window.answer = r));
			return real(what, how);
		};
	}`)
	s.keys("wrong" + kb.Enter)
	s.until(`"answer" in window`)
	s.keys(kb.Escape)
	s.until(`!document.querySelector("dialog")`)
	s.run(`answer()`)
	s.until(`document.querySelector("dialog[open] .error")?.textContent.includes("wrong")`)
	s.clean()
}
