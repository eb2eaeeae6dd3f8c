package demo

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// journals opens a journal for two writers and a reader.
func journals(t *testing.T) (folder string, first, second *journal, reader *journalReader) {
	t.Helper()
	folder = t.TempDir()
	first, second = must(openJournal(folder)), must(openJournal(folder))
	reader = must(readJournal(folder))
	t.Cleanup(func() { first.close(); second.close(); reader.close() })
	return folder, first, second, reader
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestJournalKeepsTheOrderAcrossWriters(t *testing.T) {
	t.Parallel()
	_, first, second, reader := journals(t)
	check(t, first.add(record{Kind: enter, Worker: 1, At: 5, Since: 4}))
	check(t, second.add(record{Kind: gone, Worker: 2, At: 6}))
	check(t, first.add(record{Kind: leave, Worker: 1, At: 7, Read: 41}))
	want := []record{{Kind: enter, Worker: 1, At: 5, Since: 4}, {Kind: gone, Worker: 2, At: 6}, {Kind: leave, Worker: 1, At: 7, Read: 41}}
	if got := must(reader.next()); !slices.Equal(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
	if again := must(reader.next()); len(again) != 0 {
		t.Errorf("read again: %+v", again)
	}
}

func TestJournalLosesNoLineOfManyWritersAtOnce(t *testing.T) {
	t.Parallel()
	folder, _, _, reader := journals(t)
	const writers, lines = 8, 200
	var wg sync.WaitGroup
	for worker := range writers {
		wg.Go(func() {
			j := must(openJournal(folder))
			defer j.close()
			for n := range int64(lines) {
				must(0, j.add(record{Kind: leave, Worker: worker, Read: n}))
			}
		})
	}
	wg.Wait()
	next := make(map[int]int64)
	for _, r := range must(reader.next()) {
		if r.Kind != leave || r.Read != next[r.Worker] {
			t.Fatalf("%+v where line %d was due", r, next[r.Worker])
		}
		next[r.Worker]++
	}
	if len(next) != writers {
		t.Errorf("%d writers, want %d", len(next), writers)
	}
}

func TestHalfALineSpoilsNoOther(t *testing.T) {
	t.Parallel()
	folder, first, _, reader := journals(t)
	raw := must(os.OpenFile(filepath.Join(folder, journalName), os.O_WRONLY|os.O_APPEND, 0))
	defer raw.Close()
	must(raw.WriteString("\n" + `{"kind":"leave","wor`))
	if got := must(reader.next()); len(got) != 0 {
		t.Errorf("half a line was read as %+v", got)
	}
	check(t, first.add(record{Kind: enter, Worker: 2}))
	want := []record{{Kind: torn}, {Kind: enter, Worker: 2}}
	if got := must(reader.next()); !slices.Equal(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

func TestALineInTwoHalvesIsOneRecord(t *testing.T) {
	t.Parallel()
	folder, _, _, reader := journals(t)
	raw := must(os.OpenFile(filepath.Join(folder, journalName), os.O_WRONLY|os.O_APPEND, 0))
	defer raw.Close()
	must(raw.WriteString("\n" + `{"kind":"leave",`))
	must(reader.next())
	must(raw.WriteString(`"worker":3}` + "\n"))
	if got := must(reader.next()); !slices.Equal(got, []record{{Kind: leave, Worker: 3}}) {
		t.Errorf("read %+v", got)
	}
}

func TestCounterIsSharedThroughItsFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	one, other := must(openCounter(folder)), must(openCounter(folder))
	defer one.close()
	defer other.close()
	if got := must(one.read()); got != 0 {
		t.Errorf("a new counter is %d", got)
	}
	for _, value := range []int64{1, 1234567, 9} {
		check(t, one.write(value))
		if got := must(other.read()); got != value {
			t.Errorf("read %d, want %d", got, value)
		}
	}
	check(t, os.WriteFile(filepath.Join(folder, "counter"), []byte("not a number of that width"), 0o600))
	if got, err := one.read(); err == nil {
		t.Errorf("nonsense was read as %d", got)
	}
}
