package main

import (
	"os"
	"testing"
	"time"
)

// Goal: contestants in other languages and on other servers are measured like the rest. Method: one short
// slice of each kind. A test needs no network, so that it waits for the benchmark to build them.
func TestForeignContestantsGetFigures(t *testing.T) {
	if _, err := os.Stat("java/target/classpath"); err != nil {
		t.Skip("the contestant in Java is not built; make bench does it")
	}
	b := &bench{plan: plan{
		foreign: true, practice: 100 * time.Millisecond, warmUp: 100 * time.Millisecond,
		hotSlice: 300 * time.Millisecond, crossSlice: 300 * time.Millisecond, shareSlice: 300 * time.Millisecond,
	}}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	for _, e := range b.present([]entrant{must(findEntrant(nameRedisson)), must(findEntrant(nameEtcd))}) {
		s := b.subject(e, 4)
		defer s.close()
		run, err := pairTable{goroutines: 4, stuck: map[string]int{}}.run(t.Context(), b, s, 200*time.Millisecond)
		if err != nil || run.pairs < run.inside || run.perSecond() <= 0 || run.cpuMicros() <= 0 || run.serverMicros() <= 0 {
			t.Errorf("%s: pairs %+v, %v", e.name, run, err)
		}
		hot, err := hotSlice(t.Context(), b, e, "hot:"+e.name)
		if err != nil || hot.perSecond() <= 0 {
			t.Errorf("%s: on one lock %v cycles/s, %v", e.name, hot.perSecond(), err)
		}
		crossing, err := crossSlice(t.Context(), b, e, "cross:"+e.name)
		if err != nil || len(crossing.crossings()) == 0 {
			t.Errorf("%s: between two processes %v cycles/s, %v", e.name, crossing.perSecond(), err)
		}
	}
	for _, other := range b.sharers() {
		l, err := b.shareSlice(t.Context(), shareRow{other: other.name, section: shareSections[1]}, "share:"+other.name)
		if err != nil || len(l.of(0).holds) == 0 || len(l.of(1).holds) == 0 {
			t.Errorf("beside %s: %d and %d holds, %v", other.name, len(l.of(0).holds), len(l.of(1).holds), err)
		}
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
