package main

// offering are changes to how a lock is offered to other processes.
var offering = []mutant{
	{
		"internal/waitqueue/offers.go",
		`o.streak, o.began = 0, now`, `o.began = now`,
		"the releases in a row were counted for ever",
		"internal/waitqueue: TestTheLockIsOfferedToOthersAtTheSixteenthReleaseInARow",
	},
	{
		"internal/waitqueue/offers.go",
		`return o.streak >= quota ||`, `return`,
		"a process kept a lock with short sections to itself",
		"internal/waitqueue: TestTheLockIsOfferedToOthersAtTheSixteenthReleaseInARow, TestALoneGoroutineOffersTheLock",
	},
	{
		"internal/waitqueue/offers.go",
		`|| now.Sub(o.began) >= max(maxStreakTime, maxStreakTrips*o.trip)`, ``,
		"a process kept a lock with long sections to itself",
		"internal/waitqueue: TestLongSectionsEndAStreakEarly",
	},
	{
		"internal/waitqueue/offers.go",
		`max(2*o.turn, minStreak)`, `max(2*o.turn, maxStreak)`,
		"a process took the lock sixteen times for each time that others had it",
		"internal/waitqueue: TestALockIsOfferedAgainAfterAsManySectionsAsOthersTookTwice, TestProcessesThatWantOneLockAllGetTheirShare",
	},
	{
		"internal/waitqueue/offers.go",
		`o.patience = min(2*o.patience, maxPatience)`, `o.patience = min(o.patience, maxPatience)`,
		"others that are slow got no more time to take the lock",
		"internal/waitqueue: TestAnOfferThatNobodyTakesIsLongerNextTimeAndThenComesSeldom, TestProcessesThatWantOneLockAllGetTheirShare",
	},
	{
		"internal/waitqueue/offers.go",
		`	o.next = now.Add(o.rest)`, `	o.next = now`,
		"a process that only listened was offered the lock all the time",
		"internal/waitqueue: TestAnOfferThatNobodyTakesIsLongerNextTimeAndThenComesSeldom",
	},
	{
		"internal/waitqueue/offers.go",
		`now.Before(o.next) && now.Before(o.short)`, `now.Before(o.next)`,
		"a process that came back waited until the long pause between offers was over",
		"internal/waitqueue: TestProcessesThatWantOneLockAllGetTheirShare",
	},
	{
		"internal/waitqueue/offers.go",
		`o.releases >= o.turn/2 {`, `true {`,
		"a process asked in vain during the turn of others",
		"internal/waitqueue: TestTheContenderLetsOthersHaveHalfOfTheirLastTurn",
	},
	{
		"internal/waitqueue/subscribe.go",
		`foreign := !ch.isEcho(time.Now())`, `foreign := !ch.isEcho(time.Now()) || true`,
		"a process took its own messages for those of others",
		"internal/waitqueue: TestOwnMessagesThatComeLateDoNotEndAnOffer, TestAReleaseOfAnotherLockOnTheChannelDoesNotEndAnOffer, TestTheLockIsOfferedToOthersAtTheSixteenthReleaseInARow",
	},
	{
		"internal/waitqueue/handover.go",
		"		if told <= 0 {\n			return\n		}\n		q = h.open(key)", "		if true {\n			return\n		}\n		q = h.open(key)",
		"a lone goroutine barred other processes",
		"internal/waitqueue: TestALoneGoroutineOffersTheLock",
	},
	{
		"internal/waitqueue/hub.go",
		`return !limited || end.After(q.offers.until)`, `return !limited || !end.IsZero()`,
		"a caller with little time did not ask for a free lock",
		"internal/waitqueue: TestALoneGoroutineOffersTheLock",
	},
	{
		"internal/waitqueue/hub.go",
		`case q.unused(now):`, `case q.unused(now.Add(-time.Hour)):`,
		"queues that nobody used stayed",
		"internal/waitqueue: TestALoneGoroutineOffersTheLock",
	},
	{
		"internal/waitqueue/offers.go",
		`if o.ordered || o.duePolled(now) {`, `if o.duePolled(now) {`,
		"a release that was to offer the lock handed it over",
		"internal/waitqueue: TestOfferMakesTheNextReleaseOfferTheLock",
	},
}
