package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Goal: whatever there is to be told of, it does not fill a disk.
func TestTheLogHasAHundredLinesASecond(t *testing.T) {
	t.Parallel()
	var log output
	p := paced{&log, time.Tick(lineTime)}
	began := time.Now()
	for time.Since(began) < 500*time.Millisecond {
		fmt.Fprintln(p, "line")
	}
	most := int(time.Since(began)/lineTime) + 2
	if n := strings.Count(log.String(), "line\n"); n > most || n < 2 {
		t.Errorf("%d lines were written, at most %d should be", n, most)
	}
}
