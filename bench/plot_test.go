package main

import (
	"encoding/xml"
	"math"
	"strings"
	"testing"
)

// image is what is looked at of one.
type image struct {
	Rects []struct {
		X      float64 `xml:"x,attr"`
		Y      float64 `xml:"y,attr"`
		Width  string  `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
	} `xml:"rect"`
	Lines []struct {
		Points string `xml:"points,attr"`
	} `xml:"polyline"`
	Texts []string `xml:"text"`
}

func parseImage(t *testing.T, text string) (i image) {
	t.Helper()
	if err := xml.Unmarshal([]byte(text), &i); err != nil {
		t.Fatal(err)
	}
	return i
}

// Goal: bars do not cover each other, whatever the number of kinds, and the unit is written.
func TestBarsDoNotOverlap(t *testing.T) {
	t.Parallel()
	for _, kinds := range [][]string{nil, {"a hold", "a waiter"}} {
		values := []float64{0, 12345}[:max(len(kinds), 1)]
		i := parseImage(t, plotBars("title", "where", "bytes", kinds, []bars{{nameRedlatch, values}, {"other", values}}))
		if !strings.Contains(strings.Join(i.Texts, "\n"), "bytes") {
			t.Errorf("%v: the unit is missing in %q", kinds, i.Texts)
		}
		if strings.Contains(strings.Join(i.Texts, "\n"), "0.1") {
			t.Errorf("%v: nothing stretches the scale: %q", kinds, i.Texts)
		}
		bottom := 0.
		for _, r := range i.Rects[1+len(kinds):] { // after the background and the legend
			if r.Y < bottom {
				t.Errorf("%v: a bar begins at %v, above the end of the one before at %v", kinds, r.Y, bottom)
			}
			bottom = r.Y + r.Height
		}
	}
}

// Goal: a curve ends where nothing more was measured, and the others are not disturbed by it.
func TestCurveLeavesOutWhatWasNotMeasured(t *testing.T) {
	t.Parallel()
	text := plotCurves("title", "where", []int{1, 8, 64}, []curve{
		{"whole", []float64{10, 20, 30}}, {"part", []float64{10, 200, math.NaN()}},
	})
	if strings.Contains(text, "NaN") {
		t.Error("a point is nowhere")
	}
	i := parseImage(t, text)
	if a, b := strings.Count(i.Lines[0].Points, ","), strings.Count(i.Lines[1].Points, ","); a != 2 || b != 3 {
		t.Errorf("curves of %d and %d points; want 2 of the upper one and 3", a, b)
	}
}
