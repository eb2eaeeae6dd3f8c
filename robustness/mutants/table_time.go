package main

// renewing are changes to the rules of time.
var renewing = []mutant{
	{
		"internal/renew/term.go",
		`asked.Add(span - margin(span))`, `asked.Add(span + margin(span))`,
		"the margin was added instead of subtracted",
		"TestAFixedLeaseIsNeverRenewedAndEndsBeforeItsKey",
	},
	{
		"internal/renew/term.go",
		`return !now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))`, `return !now.Before(deadline)`,
		"a suspended machine did not end its holds",
		"internal/renew: TestATermIsOverFromItsDeadlineOnByEitherClock, TestAfterASuspensionEverythingThatIsOverIsFoundAtOnce",
	},
	{
		"internal/renew/term.go",
		`return min(t.Lease, t.Until.Sub(asked))`, `return t.Lease`,
		"the limit was ignored in the renewal",
		"TestAHoldWithAnEndIsNeverRenewedBeyondIt",
	},
	{
		"internal/renew/term.go",
		`return earlier(t.trusted(), t.Until)`, `return t.trusted()`,
		"the limit was ignored in the trust",
		"internal/renew: TestUntilCapsTheDeadlineAndNotTheTrust",
	},
	{
		"internal/renew/term.go",
		`t.trusted().Add(margin(t.Lease)-t.Lease+t.Every), `, ``,
		"a confirmation of a short lease put off the renewal",
		"internal/renew: TestConfirmationsOfShortSpansDoNotPostponeARenewal",
	},
	{
		"internal/renew/term.go",
		`pause := min(max(left/16, minRetry), maxRetry)`, `pause := left`,
		"the engine did not try again after an error",
		"TestRenewalSurvivesEveryOutageShorterThanItsLease",
	},
	{
		"internal/renew/term.go",
		`return max(end.Sub(now)/2, minRetry)`, `return max(end.Sub(now), minRetry)`,
		"a request that hung took all the time that was left",
		"internal/renew: TestAnAttemptMayTakeHalfOfTheTimeLeft, TestAServerThatHangsAndComesBackWithinTheLeaseCostsNothing",
	},
	{
		"internal/renew/item.go",
		`later(term.trusted(), it.term.trusted())`, `term.trusted()`,
		"an answer that was overtaken lowered the trust",
		"internal/renew: TestTrustNeverFallsWhateverTheOrderOfTheConfirmations",
	},
	{
		"internal/renew/engine.go",
		"	if it.ended {\n		return\n	}\n	it.confirm(term)", "	it.confirm(term)",
		"an item whose watch had ended was watched again",
		"internal/renew: TestAnItemWhoseWatchHasEndedIsNotWatchedAgain",
	},
	{
		"internal/renew/term.go",
		`asked.Add(span - margin(span))`, `asked.Add(span + time.Hour)`,
		"there was no local deadline",
		"TestAFixedLeaseIsNeverRenewedAndEndsBeforeItsKey",
	},
	{
		"internal/renew/engine.go",
		`now = now.Add(term.Every / ahead)`, `now = now.Add(0)`,
		"each item had a request of its own",
		"internal/renew: TestTenThousandItemsSpreadOverTimeAreRenewedTogether",
	},
	{
		"internal/renew/group.go",
		`case it.place == 0: // removed or over meanwhile`, `case it.place < 0:`,
		"an answer revived a lease that had been removed",
		"internal/renew: TestAnItemRemovedDuringARenewalIsNotLostAndDoesNotComeBack",
	},
	{
		"internal/renew/group.go",
		`one.Term.Span(answer.Asked)`, `it.Term().Span(answer.Asked)`,
		"a renewal was trusted by a later plan and not by what it had asked for",
		"internal/renew: TestARenewalBuiltBeforeAShorterPlanIsTrustedByWhatItAskedFor",
	},
	{
		"internal/renew/group.go",
		`c.shard = subject.Shard()`, `_ = subject`,
		"locks of several shards were renewed in one batch",
		"internal/renew: TestAServerThatHangsDoesNotHoldUpTheItemsOfAnother",
	},
	{
		"internal/renew/unconfirmed.go",
		`if jumped || late {`, `if _ = late; jumped {`,
		"a loop that woke late did not take it for a pause",
		"internal/renew: TestALoopThatWakesLateTakesItForAPause",
	},
	{
		"internal/renew/unconfirmed.go",
		`if jumped || late {`, `if late {`,
		"a suspended machine did not count as paused",
		"internal/renew: TestASuspendedMachineIsAPause",
	},
	{
		"internal/renew/unconfirmed.go",
		`case !term.renewed() || !term.Asked.Before(e.resumed):`, `case !term.renewed():`,
		"a partition after a pause was taken for that pause",
		"internal/renew: TestWhatWasConfirmedSinceAPauseIsNotUnconfirmed",
	},
	{
		"internal/renew/unconfirmed.go",
		`return earlier(end, term.Until)`, `return end`,
		"a guard extended a hold beyond its end",
		"internal/renew: TestNoGuardExtendsALeaseBeyondItsEnd",
	},
	{
		"internal/renew/unconfirmed.go",
		`if e.guard.Alive != nil && e.guard.Alive() {`, `if e.guard.Alive != nil {`,
		"it was not asked whether a watchdog lives",
		"internal/renew: TestWithoutAGuardAPauseEndsALeaseAtOnce",
	},
}
