package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Goal: lines of which the log has no room are counted, and the count is told when it is read
// again. Method: a log that takes nothing until all is written.
func TestDroppedLinesAreCounted(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe() // without room
	r := newRelay(writer, func(out io.Writer) slog.Handler { return slog.NewTextHandler(out, nil) })
	const more = 100
	for i := range mostLines + more {
		fmt.Fprintln(r, "line", i)
	}
	said := make(chan string)
	go func() {
		text, _ := io.ReadAll(reader)
		said <- string(text)
	}()
	r.close()
	writer.Close()
	text := <-said
	if n := strings.Count(text, "line "); n != mostLines && n != mostLines+1 { // one may be on its way
		t.Errorf("%d lines were written", n)
	}
	if !strings.Contains(text, "lines were dropped") {
		t.Errorf("nothing was said of those that were dropped:\n%.500s", text)
	}
}

// Goal: whatever there is to be told of, it does not fill a disk.
func TestTheLogHasAHundredLinesASecond(t *testing.T) {
	t.Parallel()
	var log output
	r := newRelay(&log, func(out io.Writer) slog.Handler { return slog.NewTextHandler(out, nil) })
	defer r.close()
	began := time.Now()
	for time.Since(began) < 500*time.Millisecond {
		fmt.Fprintln(r, "line")
	}
	most := int(time.Since(began)/lineTime) + 2
	if n := strings.Count(log.String(), "line\n"); n > most || n < 2 {
		t.Errorf("%d lines were written, at most %d should be", n, most)
	}
}
