package main

// observing are changes to what observers are told, and to the metrics and spans made of it.
var observing = []mutant{
	{
		"internal/lock/event.go",
		`m.settings.Logger.Error("redlatch: the observer`, `m.settings.Logger.Debug("redlatch: the observer`,
		"nobody was told of a panic of the observer",
		"TestAPanickingObserverCostsTheCallerNothing",
	},
	{
		"internal/lock/report.go",
		`len(r.reports) >= maxReports`, `false`,
		"reports for an observer that hangs were kept without bound",
		"TestAHangingObserverDelaysNoRenewal",
	},
	{
		"internal/lock/event.go",
		"	m.reporter.offer(func() {\n", "	func(tell func()) { tell() }(func() {\n",
		"the goroutine that renews told the observer",
		"TestAHangingObserverDelaysNoRenewal",
	},
	{
		"internal/lock/event.go",
		"	case r.read:\n		return KindRead\n", "",
		"a reader that was refused was told as a writer",
		"TestEventsOfAReentryNameItsOwnSide",
	},
	{
		"internal/lock/event.go",
		"	if h.read {\n		e.LockKind = KindRead\n	}\n", "",
		"a writer that reads as well was told as a writer only",
		"TestEventsOfAReentryNameItsOwnSide",
	},
	{
		"internal/lock/event.go",
		`h == &b.first && `, ``,
		"a re-entry was told to have waited",
		"TestEventsOfAReentryNameItsOwnSide",
	},
	{
		"internal/lock/wait.go",
		"			o.holder = from\n", "",
		"a hand-over did not tell from whom",
		"TestEventsOfWaitsNameTheHolder",
	},
	{
		"internal/lock/event.go",
		`now.Sub(term.Asked) > term.Lease/2`, `now.Sub(term.Asked) > term.Lease`,
		"a late renewal was told as one in time",
		"TestEventsOfRenewalsSayWhatWasLeft",
	},
	{
		"internal/lock/event.go",
		`term.Every == 0 || `, ``,
		"the end of a fixed lease was told as an expiry",
		"TestEventsOfLossesSayWhy",
	},
	{
		"internal/lock/event.go",
		` || term.Final()`, ``,
		"the end of WithMaxHold was told as an expiry",
		"TestEventsOfLossesSayWhy",
	},
	{
		"internal/lock/event.go",
		` && g.end == lockerr.ErrReleased`, ``,
		"a loss was told twice",
		"TestALossIsToldOnce",
	},
	{
		"internal/lock/close.go",
		"		m.observeClosed(ended[i], result.Reply.Err)\n", "",
		"nobody was told what Close released",
		"TestEventsTellOfDetachAndClose",
	},
	{
		"internal/lock/base.go",
		`g.detach(b.hold)`, `b.hold.Detach()`,
		"the end of a cohort's hold in Redis was told beside those of its turns",
		"TestEventsTellOfDetachAndClose",
	},
	{
		"observer.go",
		"	defer all[1:].Observe(ctx, e)\n	all[0].Observe(ctx, e)\n", "	all[0].Observe(ctx, e)\n	all[1:].Observe(ctx, e)\n",
		"a panic of one observer kept the others from being told",
		"TestObserversAreAllToldIfOneOfThemPanics",
	},
	{
		"redlatchprom/names.go",
		`case len(n.known) < n.most:`, `case true:`,
		"the number of names that are exported had no bound",
		"redlatchprom: TestNamesAreExportedIfAskedForAndBounded",
	},
	{
		"redlatchprom/metrics.go",
		`	if m.names == nil {
		for`, `	if false {
		for`,
		"the first loss made a new series, which no alert sees",
		"redlatchprom: TestCountersBeginAtZero",
	},
	{
		"redlatchotel/holds.go",
		`past.over`, `false`,
		"the span of a hold whose loss was told first stayed open",
		"redlatchotel: TestALossMayBeToldBeforeItsAcquisition",
	},
	{
		"redlatchotel/holds.go",
		`		delete(h.ended, h.oldest[h.next])
`, ``,
		"holders of the past were never forgotten",
		"redlatchotel: TestHoldersOfThePastAreForgotten",
	},
	{
		"redlatchotel/telemetry.go",
		`waitedFor.IsValid()`, `false`,
		"a wait was not linked to the hold that it waited for",
		"redlatchotel: TestAWaitIsLinkedToTheHoldThatItWaitedFor",
	},
	{
		"redlatchotel/telemetry.go",
		"	case redlatch.EventClosed, redlatch.EventLost:\n		for", "	case redlatch.EventLost:\n		for",
		"Close left the spans of holds open",
		"redlatchotel: TestEveryEndOfAHoldEndsItsSpan",
	},
}
