package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The picture of the documentation: how the cost of each operation grows.

const (
	growthResults = "results/scale.md"
	growthPicture = "../docs/growth.svg"
)

// panel is one diagram. All have the same axes.
type panel struct {
	title, number string
	curves        []curve
}

// curve is one column of the results, with its label at the right end, above it or below.
type curve struct {
	column, label string
	color         color.Color
	below         bool
}

// The colours are legible on white and on black.
var (
	ink    = color.Gray{Y: 0x7c}
	faint  = color.NRGBA{R: 0x80, G: 0x80, B: 0x80, A: 0x58}
	blue   = color.NRGBA{R: 0x2f, G: 0x7d, B: 0xe0, A: 0xff}
	orange = color.NRGBA{R: 0xd4, G: 0x6a, B: 0x0c, A: 0xff}
)

var panels = [][]panel{{
	{"Grant and release", "waiters, in four processes", []curve{
		{waited[0].name + ofWaiters, "FairMutex", blue, false}, {waited[1].name + ofWaiters, "Mutex", orange, true}}},
	{"Grant and release", "processes, with one waiter each", []curve{
		{waited[0].name + ofProcesses, "FairMutex", blue, true}, {waited[1].name + ofProcesses, "Mutex", orange, false}}},
	{"One more reader comes and goes", "readers that hold the RWMutex", []curve{{figureReader, "RLock and Unlock", blue, false}}},
}, {
	{"One of many locks", "locks that one owner holds", []curve{
		{figurePair, "Lock and Unlock", blue, false}, {figureRenewal, "renewal", orange, false}}},
	{"A look of the watchdog", "protected processes", []curve{
		{figureRun, "all of them run", blue, true}, {figurePaused, "all are paused", orange, false}}},
	{"A look of the console, ls or top", "locks in Redis", []curve{{figureLook, "at all locks", orange, false}}},
}}

// paint draws the results that are kept.
func paint() error {
	text, err := os.ReadFile(growthResults)
	if err != nil {
		return err
	}
	picture, err := picture(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(growthPicture, picture, 0o644)
}

// picture draws the first table of a page.
func picture(page string) ([]byte, error) {
	table := readTable(page)
	canvas := vgsvg.New(10*vg.Inch, 6*vg.Inch)
	tiles := draw.Tiles{Rows: len(panels), Cols: len(panels[0]), PadX: 16, PadY: 20, PadRight: 12, PadTop: 2}
	for i, row := range panels {
		for j, panel := range row {
			p, err := panel.plot(table)
			if err != nil {
				return nil, err
			}
			p.Draw(tiles.At(draw.New(canvas), j, i))
		}
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("Liberation Sans"), []byte("Liberation Sans,Arial,Helvetica,sans-serif")), nil
}

func (p panel) plot(table map[string]plotter.XYs) (*plot.Plot, error) {
	pl := plot.New()
	pl.BackgroundColor = nil
	for _, style := range []*draw.TextStyle{&pl.Title.TextStyle, &pl.X.Label.TextStyle, &pl.Y.Label.TextStyle, &pl.X.Tick.Label, &pl.Y.Tick.Label} {
		style.Color, style.Font = ink, font.Font{Typeface: "Liberation", Variant: "Sans", Size: 10}
	}
	pl.Title.Text, pl.Title.TextStyle.Font.Size, pl.Title.Padding = p.title, 12, 8
	pl.X.Label.Text, pl.X.Label.Padding, pl.Y.Label.Text = p.number, 3, "CPU time of Redis"
	for _, axis := range []*plot.Axis{&pl.X, &pl.Y} {
		axis.Color, axis.Tick.Color, axis.Padding, axis.Tick.Length = faint, faint, 0, 4
	}
	pl.X.Tick.Marker = powers("1", "10", "100", "1k", "10k", "100k")
	pl.Y.Tick.Marker = powers("1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s")
	pl.X.Min, pl.X.Max, pl.Y.Min, pl.Y.Max = 0, 5, 0, 7
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	pl.Add(grid)
	for _, c := range p.curves {
		points := table[c.column]
		if _, _, low, high := plotter.XYRange(points); len(points) < 2 || low < 0 || high > pl.Y.Max {
			return nil, fmt.Errorf("%s has %d results, from 10^%.1f to 10^%.1f µs", c.column, len(points), low, high)
		}
		text := pl.Title.TextStyle
		text.Color, text.XAlign, text.YAlign = c.color, draw.XRight, draw.YCenter
		height := vg.Points(12)
		if c.below {
			height = -vg.Points(14)
		}
		pl.Add(&plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: c.color, Width: 1.8}},
			&plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: c.color, Radius: 2.4, Shape: draw.CircleGlyph{}}},
			struct{ plot.Plotter }{&plotter.Labels{ // without its method GlyphBoxes, which makes room for labels
				XYs: points[len(points)-1:], Labels: []string{c.label}, TextStyle: []draw.TextStyle{text}, Offset: vg.Point{Y: height},
			}})
	}
	return pl, nil
}

// powers are the names of 1, 10, 100 and so on, by their logarithms.
func powers(names ...string) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for i, name := range names {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
	}
	return ticks
}

// readTable reads the logarithms of the first table of a page, whose rows have numbers as names. What is not
// known is left out. The library has logarithmic axes, but places the room for their labels by the numbers.
func readTable(page string) map[string]plotter.XYs {
	table := map[string]plotter.XYs{}
	var head []string
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if head == nil && len(cells) > 1 {
			head = cells
		}
		for i := 2; i < min(len(cells), len(head))-1; i++ {
			number, err := strconv.ParseFloat(strings.TrimSpace(cells[1]), 64)
			cost, unknown := strconv.ParseFloat(strings.TrimSpace(cells[i]), 64)
			if column := strings.TrimSpace(head[i]); err == nil && unknown == nil {
				table[column] = append(table[column], plotter.XY{X: math.Log10(number), Y: math.Log10(cost)})
			}
		}
	}
	return table
}
