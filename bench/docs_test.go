package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Goal: every table of figures in the documentation is of a run whose output is in the tree. Method: the page has the
// very rows that the run printed, and all of them from some title on.
func TestDocsShowTheRunsThatAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ chapter, end, run, from string }{
		{"\n## Results\n", "", "full.md", "\n### In short\n"},
		{"\n### What more cores bring\n", "\n## ", "servers.md", "\nRedis 8"},
	} {
		_, shown, _ := strings.Cut(readFile(t, "../docs/benchmarks.md"), c.chapter)
		if c.end != "" {
			shown, _, _ = strings.Cut(shown, c.end)
		}
		_, kept, _ := strings.Cut(readFile(t, "results/"+c.run), c.from)
		got, want := tableRows(shown), tableRows(kept)
		if len(want) < 8 {
			t.Errorf("%s has %d rows", c.run, len(want))
		}
		for row := range got {
			if !want[row] {
				t.Errorf("not a row of %s: %s", c.run, row)
			}
		}
		for row := range want {
			if !got[row] {
				t.Errorf("the documentation leaves out: %s", row)
			}
		}
	}
}

// Goal: the limits that the documentation names follow from the table beside them. Method: a million µs a second of
// each server, divided by the main threads' time of a pair, in thousands.
func TestDocsNameTheLimitsOfTheServers(t *testing.T) {
	t.Parallel()
	_, shown, _ := strings.Cut(readFile(t, "../docs/benchmarks.md"), "\n### What more cores bring\n")
	table, text, _ := strings.Cut(shown, "\n\nThe limit of a server")
	for _, c := range []struct {
		row     string
		servers float64
		cells   []int
	}{
		{"| one server |", 1, []int{2, 5}}, {"| one server, two I/O threads |", 1, []int{5}},
		{"| a Cluster of 4 |", 4, []int{2, 5}}, {"| a Cluster of 4, `OldestPeer: \"none\"` |", 4, []int{2, 5}},
	} {
		_, row, _ := strings.Cut(table, c.row)
		for _, i := range c.cells {
			micros, err := strconv.ParseFloat(strings.TrimSpace(strings.Split(row, "|")[i-2]), 64)
			want := fmt.Sprintf("%.0f,000", 1000*c.servers/micros)
			if err != nil || !strings.Contains(text, want) {
				t.Errorf("%s column %d: the limit is %s (%v)", c.row, i, want, err)
			}
		}
	}
}

// Goal: the picture is of the run that is kept. Method: it is drawn again, and with one other figure.
func TestThePictureIsOfTheRunThatIsKept(t *testing.T) {
	t.Parallel()
	kept := readFile(t, growthResults)
	drawn, err := picture(kept)
	if err != nil || string(drawn) != readFile(t, growthPicture) {
		t.Errorf("draw %s anew: go run . -draw (%v)", growthPicture, err)
	}
	row := regexp.MustCompile(`(?m)^\| 100 \| [\d.]+ \|`)
	other, err := picture(row.ReplaceAllString(kept, "| 100 | 5000000 |"))
	if err != nil || bytes.Equal(other, drawn) {
		t.Errorf("the picture of another run is the same (%v)", err)
	}
	for _, wrong := range []string{"", row.ReplaceAllString(kept, "| 100 | 0.0 |"), row.ReplaceAllString(kept, "| 100 | 20000000 |")} {
		if _, err := picture(wrong); err == nil {
			t.Error("there is a picture without results, or with one outside of its panel")
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func tableRows(page string) map[string]bool {
	rows := map[string]bool{}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "|") {
			rows[strings.TrimSpace(line)] = true
		}
	}
	return rows
}
