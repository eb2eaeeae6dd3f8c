package main

const (
	figureCycles       = "cycles/s"
	figureInOrder      = "in order of arrival"
	figureMeanWait     = "mean wait, µs"
	figureLongest      = "longest, ms"
	figureUnfairness   = "longest ÷ mean"
	figureUnfairGrants = "same, in grants"
	figureStarved      = "starved"
	figureTail         = "tail, ms"
	figureStranded     = "stranded"
	figureServed       = "served"
	figureLesserShare  = "share of the lesser process"
	figureToOther      = "to the other process"
	figureHandOver     = "hand-over to it, µs"

	// of two processes that are not the same
	figureShareFirst    = "share of the first"
	figureShareSecond   = "share of the second"
	figureLongestFirst  = "longest wait of the first, ms"
	figureLongestSecond = "longest wait of the second, ms"
	figureLongestRatio  = "longest wait, second ÷ first"

	// a grant
	figureScriptsEach = "scripts/cycle"
	figureWritesEach  = "writes/cycle"
	figureScriptTime  = "µs of scripts"
	figureListenTime  = "µs of subscriptions"
	figureServerTime  = "µs in all"
)

// figures are all that the ledger tells.
func (l ledger) figures() figures {
	waits, inGrants, granted := l.waits(), l.waitsInGrants(), float64(max(len(l.granted()), 1))
	f := figures{
		figureCycles: l.perSecond(), figureInOrder: l.inOrder(),
		figureMeanWait: mean(waits) / 1e3, figureLongest: longest(waits) / 1e6,
		figureUnfairness: longest(waits) / max(mean(waits), 1), figureUnfairGrants: longest(inGrants) / max(mean(inGrants), 1),
		figureStarved: float64(l.starved()), figureTail: l.tail().Seconds() * 1e3,
		figureStranded: float64(l.stranded()), figureServed: l.served(), figureLesserShare: l.smallestShare(),
	}
	if crossings := l.crossings(); len(crossings) > 0 {
		f[figureToOther], f[figureHandOver] = float64(len(crossings))/granted, median(crossings)/1e3
	}
	first, second := l.of(0), l.of(1)
	f[figureShareSecond] = float64(len(second.granted())) / granted
	f[figureShareFirst] = 1 - f[figureShareSecond]
	f[figureLongestFirst], f[figureLongestSecond] = longest(first.waits())/1e6, longest(second.waits())/1e6
	f[figureLongestRatio] = f[figureLongestSecond] / f[figureLongestFirst]
	return f
}
