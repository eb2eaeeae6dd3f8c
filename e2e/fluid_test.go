package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/redlatch/redlatch/console"
	"github.com/redlatch/redlatch/inspect"
)

// The bounds of a page with 5,000 locks, of which 500 change four times a second: four times as often
// as in operation.
const (
	manyLocks   = 5000
	changes     = 12
	perFrame    = 50 * time.Millisecond  // of processor time, while the table is scrolled by 100 rows a frame
	perChange   = 50 * time.Millisecond  // of processor time, while it stands still
	perSecond   = 500 * time.Millisecond // of processor time, while who blocks whom is seen
	rowsOnPage  = 60
	betweenThem = 250 // milliseconds
)

// scrollAll scrolls the table from its top to its end.
const scrollAll = `new Promise((done) => {
	const grid = document.querySelector(".grid");
	let frames = 0;
	const step = () => {
		frames++;
		grid.scrollTop += 4000;
		if (grid.scrollTop + grid.clientHeight < grid.scrollHeight - 1) requestAnimationFrame(step);
		else done(frames);
	};
	requestAnimationFrame(step);
})`

// Goal: with 5,000 locks the page stays fluid. Method: measure the processor time of the page's main
// thread, per change and per frame. Long tasks are logged and not judged: they grow with whatever else
// the machine does.
func TestFiveThousandLocksStayFluid(t *testing.T) {
	locks := make([]inspect.Lock, manyLocks)
	for i := range locks {
		locks[i] = held(fmt.Sprintf("orders:%d", i), owner(i%10, i), fmt.Sprintf("worker-%d", i%40), 30*time.Second)
	}
	src := newSource(locks...)
	s := open(t, src, console.Options{})
	s.until(`document.querySelector(".chip.all .num").textContent === "5,000"`)
	call(s, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	s.run(`{ window.tasks = []; new PerformanceObserver((list) => tasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: "longtask" }); }`)

	began := s.worked()
	for round := range changes {
		locks = slices.Clone(locks)
		for i := round % 10; i < manyLocks; i += 10 {
			locks[i] = held(locks[i].Name, locks[i].Holders[0].Owner, locks[i].Holders[0].Process.Name, time.Duration(31+round)*time.Second)
		}
		src.set(locks)
		s.run(`new Promise((r) => requestAnimationFrame(() => setTimeout(() => r(null), %d)))`, betweenThem)
	}
	change := (s.worked() - began) / changes
	began = s.worked()
	frames := value[int](s, scrollAll)
	frame := (s.worked() - began) / time.Duration(frames)

	tasks := append(value[[]float64](s, `tasks`), 0)
	t.Logf("%v a change, %v a frame in %d frames, %d long tasks, the longest %.0f ms", change.Round(time.Millisecond), frame.Round(time.Millisecond), frames, len(tasks)-1, slices.Max(tasks))
	if change > perChange || frame > perFrame {
		t.Errorf("more than %v a change, or than %v a frame", perChange, perFrame)
	}
	s.until(`%s`, line("orders:4999"))
	if rows := value[int](s, `document.querySelectorAll(".line").length`); rows > rowsOnPage {
		t.Errorf("%d rows exist on the page", rows)
	}
	s.clean()
}

// Goal: with 5,000 locks that are waited for, the page of who blocks whom stays fluid. Method: chains of 50 locks, in which
// the first of three waiters holds the next lock; measure the processor time of the main thread.
func TestFiveThousandWaitedForLocksStayFluid(t *testing.T) {
	read := func(round int) []inspect.Lock {
		locks := make([]inspect.Lock, manyLocks)
		for i := range locks {
			locks[i] = held(fmt.Sprintf("orders:%d", i), owner(i, 1), "worker", time.Duration(30+round)*time.Second)
			for n, who := range []string{owner(i+1, 1), owner(i+manyLocks, 2), owner(i+manyLocks, 3)} {
				if n > 0 || i%50 < 49 {
					locks[i].Queue = append(locks[i].Queue, inspect.Waiter{Owner: who, Deadline: time.Now().Add(time.Hour)})
				}
			}
			locks[i].Queued = len(locks[i].Queue)
		}
		return locks
	}
	src := newSource(read(0)...)
	s := open(t, src, console.Options{})
	s.until(`document.querySelector(".chip.all .num").textContent === "5,000"`)
	call(s, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	s.run(`{ location.hash = "#/blocks"; }`)
	s.until(`document.querySelectorAll(".tree").length > 0`)
	began := s.worked()
	const seconds = 5
	for round := range seconds {
		src.set(read(round))
		s.run(`new Promise((r) => setTimeout(() => r(null), 1000))`)
	}
	change := (s.worked() - began) / seconds
	t.Logf("%v a second", change.Round(time.Millisecond))
	if change > perSecond {
		t.Errorf("more than %v a second", perSecond)
	}
	s.clean()
}

// worked is how long the main thread of the page has kept a processor busy.
func (s *stage) worked() time.Duration {
	s.Helper()
	result, err := chromedp.Call(s.tab, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		s.Fatal(err)
	}
	for _, m := range result.Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second))
		}
	}
	s.Fatal("the browser does not measure tasks")
	return 0
}
