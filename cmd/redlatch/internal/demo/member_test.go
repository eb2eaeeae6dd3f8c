package demo

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: the end of a killed worker is in the journal before the lock can come back,
// even while the parent listens to nobody. Method: nobody takes the news.
func TestTheEndOfAKilledWorkerIsNotedWhateverTheParentDoes(t *testing.T) {
	t.Parallel()
	_, j, _, reader := journals(t)
	report := make(chan news)
	m := must(launch([]string{testBinary, talkative}, task{Worker: 7}, j, report))
	<-report // it talks
	m.kill()
	var records []record
	redistest.Eventually(t, 10*time.Second, func() bool {
		records = append(records, must(reader.next())...)
		return len(records) > 0
	}, "a line in the journal")
	if want := (record{Kind: gone, Worker: 7, At: nanos(m.killed())}); records[0] != want {
		t.Errorf("noted %+v, want %+v", records[0], want)
	}
	for {
		if n := <-report; n.ended {
			if n.err != nil {
				t.Errorf("a kill of our own is reported as %v", n.err)
			}
			return
		}
	}
}

func TestAWorkerThatFailsIsReportedWithItsStderr(t *testing.T) {
	t.Parallel()
	_, j, _, reader := journals(t)
	report := make(chan news)
	must(launch([]string{testBinary, failing}, task{Worker: 7}, j, report))
	n := <-report
	if !n.ended || n.err == nil {
		t.Fatalf("%+v", n)
	}
	for _, want := range []string{"w7", "exit status 3", "the reason why"} {
		if !contains(n.err, want) {
			t.Errorf("%q is not in %q", want, n.err)
		}
	}
	if records := must(reader.next()); len(records) != 1 || records[0].Kind != gone {
		t.Errorf("noted %+v", records)
	}
}

func TestAProgramThatDoesNotStartIsAnError(t *testing.T) {
	t.Parallel()
	_, j, _, _ := journals(t)
	if _, err := launch([]string{t.TempDir() + "/none"}, task{Worker: 7}, j, nil); err == nil || !contains(err, "start worker w7") {
		t.Errorf("error %v", err)
	}
}

func TestAWorkerThatDoesNotLeaveIsKilledAndReported(t *testing.T) {
	t.Parallel()
	_, j, _, reader := journals(t)
	c := must(newCrew(task{}, j, talkative))
	c.patience = 200 * time.Millisecond
	must(c.hire())
	must(c.hire())
	err := c.disband(func(news) {})
	for _, want := range []string{"worker w1 ", "worker w2 ", "did not leave within 200ms"} {
		if err == nil || !contains(err, want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if len(c.members) != 0 {
		t.Errorf("%d workers are left", len(c.members))
	}
	if records := must(reader.next()); len(records) != 2 {
		t.Errorf("noted %+v", records)
	}
}
