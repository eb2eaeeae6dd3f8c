package main

// polling are changes to waits that ask again and again.
var polling = []mutant{
	{
		"internal/waitqueue/backoff.go",
		`return d - random.Below(d/2+1)`, `return d - d*random.Below(1)`,
		"all processes paused equally long",
		"internal/waitqueue: TestPausesGrowAndDiffer",
	},
	{
		"internal/waitqueue/backoff.go",
		`		d *= 2`, `		d *= 1`,
		"pauses did not grow",
		"TestOneWaiterOfAProcessPolls",
	},
	{
		"internal/lock/wait.go",
		`	if turn.Again {`, `	if false {`,
		"each poll asked for every reader of the process",
		"TestOneReaderOfAProcessPolls",
	},
	{
		"internal/waitqueue/waiter.go",
		`		next.refusals = 0`, `		_ = next`,
		"readers that were refused together entered one by one",
		"TestReadersThatWereRefusedTogetherEnterTogether",
	},
	{
		"internal/waitqueue/backoff.go",
		` && last.Sub(now) >= leastPause`, ``,
		"the last requests of a wait came without a pause",
		"internal/waitqueue: TestTheLastPauseIsCutToWhatIsLeftOfTheWait",
	},
	{
		"internal/lock/wait.go",
		`	w.Deadline, _ = limited.Deadline()`, ``,
		"the last pause was longer than the wait",
		"TestTheResultBeatsTheDeadlineOfAWaitThatPolls",
	},
	{
		"internal/waitqueue/backoff.go",
		`limited && w.Backoff.Polls() && last.Before(until)`, `limited && w.Backoff.Polls() && last.IsZero()`,
		"a waiter held back beyond the end of its wait",
		"internal/waitqueue: TestAWaiterDoesNotHoldBackBeyondItsWait",
	},
	{
		"internal/waitqueue/waiter.go",
		`	if at := w.nextPoll(now); at.Before(until) {`, `	if at := w.nextPoll(now); at.IsZero() {`,
		"a waiter that polls asked at the poll cap",
		"TestAWaiterThatPollsEntersWithinTheLongestPause",
	},
	{
		"internal/waitqueue/subscribe.go",
		`	case w != nil && w.Backoff.Polls():`, `	case w != nil && w.Backoff.Max < 0:`,
		"a waiter that polls subscribed",
		"TestAClientThatPollsNeedsNoMessages, TestCountersArePolledFor",
	},
	{
		"internal/lock/request.go",
		` || m.settings.Backoff.Polls() {`, ` {`,
		"a client that polls sent PUBLISH",
		"TestAClientThatPollsNeedsNoMessages",
	},
	{
		"internal/waitqueue/offers.go",
		`o.ordered || o.duePolled(now) {`, `o.ordered {`,
		"a process kept the lock from those who poll",
		"internal/waitqueue: TestAProcessLetsOthersPollInBetween",
	},
	{
		"internal/waitqueue/offers.go",
		`		o.pollRest = 0`, ``,
		"those who poll were offered the lock more and more seldom",
		"internal/waitqueue: TestAProcessLetsOthersPollInBetween",
	},
	{
		"internal/waitqueue/offers.go",
		`return now.Sub(o.polledAt) >=`, `return now.Sub(o.began) >=`,
		"a process that only listens kept those who poll from the lock",
		"internal/waitqueue: TestAListenerDoesNotKeepOutThoseWhoPoll",
	},
	{
		"internal/waitqueue/handover.go",
		`	case !q.offers.ordered:
		q.offers.polls(now, 0)
`, ``,
		"a process left the lock free for others that poll, although it polled no more",
		"internal/waitqueue: TestAProcessThatPollsNoMoreOffersNothingToThoseWhoPoll",
	},
	{
		"internal/waitqueue/handover.go",
		`	q.offers.polls(q.used, h.backoff(b).Max)
`, ``,
		"a cohort kept the lock from those who poll",
		"TestACohortGivesItsTurnToAProcessThatPolls",
	},
	{
		"internal/multilock/lookout.go",
		`			l.waiters[i].Deadline, _ = limited.Deadline()
`, ``,
		"the last pause of a Quorum was longer than its wait",
		"TestTheLastPauseOfEveryKindIsCut",
	},
	{
		"internal/lock/wait.go",
		`	if a.queues() && ttl < 0 {`, `	if a.queues() && ttl < -time.Hour {`,
		"everybody in the queue of a fair lock polled",
		"TestOnlyTheNextInTurnPollsForAFairMutex",
	},
	{
		"internal/lock/keepalive.go",
		`		oldest.WakeAt(time.Now())`, ``,
		"a release woke no fair waiter of its process that polls",
		"TestAReleaseOfThisProcessWakesAWaiterThatPollsAtOnce",
	},
	{
		"internal/script/announce.inc",
		`local reached = redis.pcall(verb, channel, payload)`, `local reached = redis.call(verb, channel, payload)`,
		"a refused message turned a release into an error",
		"TestLocksWhereMessagesAreNotAllowed",
	},
}
