package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A plot is an SVG image: curves over a number of goroutines, waiters or readers. The scale is
// logarithmic, since the slowest is hundreds of times slower than the fastest.

const (
	plotWidth, plotHeight = 760, 420
	plotLeft, plotRight   = 70, 510
	plotTop, plotBottom   = 70, 370
	plotInk, plotFaint    = "#1f2933", "#6b7785"
)

var plotColors = []string{"#1f6feb", "#6b7785", "#d9480f", "#2b8a3e", "#8cb369", "#9c36b5", "#da77f2", "#0b7285", "#495057", "#c2255c", "#a61e4d"}

// curve is one line. A value that was not measured is NaN.
type curve struct {
	name   string
	values []float64
}

// known are the values that were measured, and have a place on a logarithmic scale.
func (c curve) known() []float64 {
	return slices.DeleteFunc(slices.Clone(c.values), func(v float64) bool { return math.IsNaN(v) || v <= 0 })
}

// draw writes a plot of each contest that can be drawn, and of the pairs, into a folder.
func (b *bench) draw(r results, dir string) error {
	var latencies []curve
	for _, c := range racers() {
		line := curve{name: c.name}
		for _, n := range b.plan.levels {
			// With n callers at a time, each waits for n times the time between two finished pairs.
			line.values = append(line.values, float64(n)*r.median(pairsOf(n), c.name, figureTime))
		}
		latencies = append(latencies, line)
	}
	images := map[string]string{"latency": plot("Mean time of lock and unlock, µs", "goroutines, each its own lock", b.plan.levels, latencies)}
	for _, c := range b.contests() {
		var curves []curve
		for _, column := range c.columns {
			line := curve{name: cmp.Or(column.head, column.figure)}
			for _, row := range c.rows {
				line.values = append(line.values, r.median(c.name, row.name, column.figure))
			}
			curves = append(curves, line)
		}
		if len(c.sizes) > 0 {
			images[strings.ReplaceAll(c.name, " ", "-")] = plot(c.title, "waiters or readers", c.sizes, curves)
		}
	}
	for name, image := range images {
		if image == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name+".svg"), []byte(image), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// plot draws curves. The legend is in the order of their last points. Without any value it draws nothing.
func plot(title, over string, sizes []int, curves []curve) string {
	curves = slices.DeleteFunc(curves, func(c curve) bool { return len(c.known()) == 0 })
	if len(curves) == 0 {
		return ""
	}
	var image strings.Builder
	text := func(x, y float64, anchor, fill, words string) {
		fmt.Fprintf(&image, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, anchor, fill, html.EscapeString(words))
	}
	fmt.Fprintf(&image, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13" role="img">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&image, `<title>%s</title><rect width="%d" height="%d" fill="#ffffff"/>`+"\n", html.EscapeString(title), plotWidth, plotHeight)
	text(20, 26, "start", plotInk, title)
	text((plotLeft+plotRight)/2, plotBottom+40, "middle", plotFaint, over)

	var all []float64
	for _, c := range curves {
		all = append(all, c.known()...)
	}
	low, high := math.Floor(math.Log10(slices.Min(all))), math.Ceil(math.Log10(slices.Max(all)))
	high = max(high, low+1)
	y := func(value float64) float64 {
		return plotBottom - (plotBottom-plotTop)*(math.Log10(value)-low)/(high-low)
	}
	for power := low; power <= high; power++ {
		value := math.Pow(10, power)
		fmt.Fprintf(&image, `<path d="M%d %.1fH%d" stroke="#e3e8ee"/>`+"\n", plotLeft, y(value), plotRight)
		text(plotLeft-8, y(value)+4, "end", plotFaint, strconv.FormatFloat(value, 'f', -1, 64))
	}
	x := func(i int) float64 { return plotLeft + (plotRight-plotLeft)*float64(i)/float64(max(len(sizes)-1, 1)) }
	for i, n := range sizes {
		text(x(i), plotBottom+20, "middle", plotFaint, strconv.Itoa(n))
	}
	slices.SortStableFunc(curves, func(a, b curve) int {
		return cmp.Compare(b.known()[len(b.known())-1], a.known()[len(a.known())-1])
	})
	for i, c := range curves {
		var points []string
		for j, v := range c.values {
			if v > 0 {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x(j), y(v)))
			}
		}
		color := plotColors[i%len(plotColors)]
		fmt.Fprintf(&image, `<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>`+"\n", color, strings.Join(points, " "))
		text(plotRight+20, float64(plotTop+14+24*i), "start", color, c.name)
	}
	return image.String() + "</svg>\n"
}
