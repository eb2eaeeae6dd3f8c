package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A plot is an SVG image: curves over the number of goroutines, or bars for each library. Both
// have logarithmic scales, since the slowest is hundreds of times slower than the fastest.

const (
	plotWidth, plotHeight  = 760, 420
	plotLeft, plotTop      = 70, 60
	curvesRight, barsLeft  = 510, 230
	plotBottom, barStep    = 370, 30
	barThin                = 16 // what each further kind of bar adds
	plotInk, plotFaint     = "#1f2933", "#6b7785"
	plotGrid, plotPaper    = "#e3e8ee", "#ffffff"
	plotOurs, plotBarOther = "#1f6feb", "#9aa5b1"

	plotOursLight, plotBarLight = "#8fb8f5", "#d0d7de"
)

var plotColors = []string{plotOurs, "#6b7785", "#d9480f", "#2b8a3e", "#8cb369", "#9c36b5", "#da77f2", "#0b7285", "#495057", "#c2255c", "#a61e4d"}

// curve is one line. A value that was not measured is NaN.
type curve struct {
	name   string
	values []float64
}

// last is the last value that was measured.
func (c curve) last() float64 {
	for _, v := range slices.Backward(c.values) {
		if !math.IsNaN(v) {
			return v
		}
	}
	return math.NaN()
}

// bars are those of one library, one for each kind.
type bars struct {
	name   string
	values []float64
}

// drawing is an image that is being written.
type drawing struct {
	strings.Builder
}

func newDrawing(title, subtitle string, height int) *drawing {
	d := new(drawing)
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13" role="img">`+"\n", plotWidth, height)
	fmt.Fprintf(d, `<title>%s</title><rect width="%d" height="%d" fill="%s"/>`+"\n", html.EscapeString(title), plotWidth, height, plotPaper)
	d.text(20, 26, "start", plotInk, title)
	d.text(20, 45, "start", plotFaint, subtitle)
	return d
}

func (d *drawing) text(x, y float64, anchor, fill, words string) {
	fmt.Fprintf(d, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, anchor, fill, html.EscapeString(words))
}

func (d *drawing) line(x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, plotGrid)
}

// end returns the image.
func (d *drawing) end() string { return d.String() + "</svg>\n" }

// scale is a logarithmic axis with a mark at each power of ten.
type scale struct {
	low, high int     // powers of ten
	from, to  float64 // where they are
}

func newScale(values []float64, from, to float64) scale {
	low, high := math.Floor(math.Log10(slices.Min(values))), math.Ceil(math.Log10(slices.Max(values)))
	return scale{int(low), int(max(high, low+1)), from, to}
}

func (s scale) at(value float64) float64 {
	return s.from + (s.to-s.from)*(math.Log10(value)-float64(s.low))/float64(s.high-s.low)
}

// marks calls f with each power of ten.
func (s scale) marks(f func(at float64, mark string)) {
	for power := s.low; power <= s.high; power++ {
		value := math.Pow10(power)
		f(s.at(value), strconv.FormatFloat(value, 'f', -1, 64))
	}
}

// plotCurves draws curves over the number of goroutines. The legend is in the order of the last points.
func plotCurves(title, subtitle string, goroutines []int, curves []curve) string {
	d := newDrawing(title, subtitle, plotHeight)
	var all []float64
	for _, c := range curves {
		all = append(all, slices.DeleteFunc(slices.Clone(c.values), math.IsNaN)...)
	}
	ys := newScale(all, plotBottom, plotTop+10)
	ys.marks(func(at float64, mark string) {
		d.line(plotLeft, at, curvesRight, at)
		d.text(plotLeft-8, at+4, "end", plotFaint, mark)
	})
	x := func(i int) float64 {
		return plotLeft + (curvesRight-plotLeft)*float64(i)/float64(max(len(goroutines)-1, 1))
	}
	for i, n := range goroutines {
		d.text(x(i), plotBottom+20, "middle", plotFaint, fmt.Sprint(n))
	}
	d.text((plotLeft+curvesRight)/2, plotBottom+40, "middle", plotFaint, "goroutines")
	legend := slices.Clone(curves)
	slices.SortStableFunc(legend, func(a, b curve) int { return cmp.Compare(b.last(), a.last()) })
	for i, c := range legend {
		at := slices.IndexFunc(curves, func(o curve) bool { return o.name == c.name })
		color := plotColors[at%len(plotColors)]
		var points []string
		for j, v := range c.values {
			if !math.IsNaN(v) {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x(j), ys.at(v)))
			}
		}
		fmt.Fprintf(d, `<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>`+"\n", color, strings.Join(points, " "))
		d.text(curvesRight+20, float64(plotTop+24+24*i), "start", color, c.name)
	}
	return d.end()
}

// plotBars draws the bars of each library, and a legend if there are several kinds.
func plotBars(title, subtitle, unit string, kinds []string, libraries []bars) string {
	further := max(len(kinds)-1, 0)
	step := barStep + barThin*further
	top := plotTop
	if further > 0 {
		top += barStep
	}
	bottom := top + step*len(libraries)
	d := newDrawing(title, subtitle, bottom+60)
	var all []float64
	for _, b := range libraries {
		all = append(all, b.values...)
	}
	// What is nothing has no place on a logarithmic scale, and a bar of no length.
	all = slices.DeleteFunc(all, func(v float64) bool { return v <= 0 })
	if len(all) == 0 {
		all = []float64{1}
	}
	xs := newScale(all, barsLeft, plotWidth-90)
	xs.marks(func(at float64, mark string) {
		d.line(at, float64(top), at, float64(bottom))
		d.text(at, float64(bottom+20), "middle", plotFaint, mark)
	})
	d.text((barsLeft+plotWidth-90)/2, float64(bottom+42), "middle", plotFaint, unit)
	for i, kind := range kinds {
		x := float64(barsLeft + 240*i)
		d.bar(x, plotTop+6, 14, 12, barColor(false, i))
		d.text(x+20, plotTop+17, "start", plotFaint, kind)
	}
	thick := float64(step-10) / float64(further+1)
	for i, b := range libraries {
		y := float64(top + step*i)
		d.text(20, y+float64(step)/2+4, "start", plotInk, b.name)
		for j, v := range b.values {
			at, end := y+5+thick*float64(j), float64(barsLeft)
			if v > 0 {
				end = xs.at(v)
			}
			d.bar(barsLeft, at, end-barsLeft, thick-1, barColor(b.name == nameRedlatch, j))
			d.text(end+6, at+thick/2+4, "start", plotInk, short(v))
		}
	}
	return d.end()
}

// short is a number of three digits, or as it is if it has more before the point.
func short(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func barColor(ours bool, kind int) string {
	if ours {
		return []string{plotOurs, plotOursLight}[kind]
	}
	return []string{plotBarOther, plotBarLight}[kind]
}

func (d *drawing) bar(x, y, width, height float64, color string) {
	fmt.Fprintf(d, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, width, height, color)
}
