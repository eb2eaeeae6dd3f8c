package main

// telling breaks what is told and read of waits and of servers.
var telling = []mutant{
	{
		"internal/waitqueue/hub.go",
		`such(w.Value) && w.since.Before(before)`, `such(w.Value)`,
		"a wait that had just begun was named",
		"internal/waitqueue: TestTheOldestWaitersAreNamedFirst",
	},
	{
		"internal/session/waits.go",
		`s.settings.Waits(script.MaxWaits, asked)`, `s.settings.Waits(script.MaxWaits, looked)`,
		"a short wait was told",
		"internal/session: TestWaitsAreToldWithTheHeartbeatWhileThereAreSome",
	},
	{
		"internal/session/waits.go",
		`s.waits.told = s.waits.some || err != nil`, `s.waits.told = s.waits.some`,
		"waits whose removal was lost stayed",
		"internal/session: TestALostReplyToWaitsIsRepeatedByTheNextHeartbeat",
	},
	{
		"internal/session/waits.go",
		`s.waits.refused, s.waits.told = true, false`, `s.waits.told = false`,
		"a refusal was asked for again and again",
		"internal/session: TestARefusalToTellWaitsCostsNothingElse",
	},
	{
		"internal/session/session.go",
		`if s.waits.told {`, `if false {`,
		"the waits of a closed client stayed",
		"internal/session: TestWaitsEndWithTheSession",
	},
	{
		"internal/script/waits.go",
		`!protocol.OwnedBy(client, owner)`, `false`,
		"a client was believed about the owners of another",
		"inspect/blocked: TestWaitsThatNoClientWritesAreLeftOut",
	},
	{
		"internal/script/session_waits.lua",
		`local had = redis.call('DEL', KEYS[1])`, `local had = redis.call('EXISTS', KEYS[1])`,
		"waits that had ended stayed",
		"internal/script: TestAClientTellsItsWaits",
	},
	{
		"internal/lock/waits.go",
		`owners = a.shared.held(since)`, `owners = nil`,
		"an owner did not tell what else it held",
		"inspect/blocked: TestTheOwnerOfAContextAndAMultiTellWhatTheyHold",
	},
	{
		"internal/multilock/group.go",
		`if g.kind == "Multi" {`, `if false {`,
		"a Multi did not tell what it held",
		"inspect/blocked: TestTheOwnerOfAContextAndAMultiTellWhatTheyHold",
	},
	{
		"inspect/blocked/read.go",
		`(writes || w.Mode == protocol.WaitWrite)`, `(writes || w.Mode != "")`,
		"a reader waited for readers",
		"inspect/blocked: TestWaitsThatAreOverAreNoEdges",
	},
	{
		"inspect/blocked/cycle.go",
		`e.Waiter.Client != e.Holder.Client &&`, `true &&`,
		"goroutines of one process that wait for each other counted as a deadlock",
		"inspect/blocked: TestCycles",
	},
	{
		"internal/session/waits.go",
		`now.Add(all[i].Since.Sub(asked)+rounded)`, `now.Add(all[i].Since.Sub(nowAt)+rounded)`,
		"a wait began earlier for others than for itself",
		"internal/session: TestNoWaitSeemsLongerThanItWas",
	},
	{
		"internal/session/waits.go",
		`now, nowAt, asked := s.now, s.nowAt, s.asked`, `now, nowAt, asked := s.now, s.asked, s.asked`,
		"a wait was confirmed later than its client had looked",
		"internal/session: TestNoWaitSeemsLongerThanItWas",
	},
	{
		"internal/lock/grant.go",
		`!g.holds[0].since.After(at)`, `true`,
		"a wait was under a hold that had come later",
		"inspect/blocked: TestAnOwnerThatAcquiresWhileItWaits",
	},
	{
		"inspect/blocked/overlap.go",
		`return e.Since.After(at) })`, `return e.Since.IsZero() })`,
		"waits that missed each other were a certain cycle",
		"inspect/blocked: TestWaitsThatMissedEachOtherAreNotCertain, TestCertainCyclesOfRandomGraphs, TestCycles",
	},
	{
		"inspect/blocked/overlap.go",
		`return e.Confirmed.IsZero() })`, `return false })`,
		"waits of which nobody knows how long they lasted were a certain cycle",
		"inspect/blocked: TestCycles",
	},
	{
		"inspect/blocked/read.go",
		`if w.Confirmed.After(latest) {`, `if w.Confirmed.After(latest) && false {`,
		"a wait was confirmed in the future",
		"inspect/blocked: TestWaitsThatNoClientWritesAreLeftOut",
	},
	{
		"inspect/doctor/data.go",
		`case policy != "noeviction" && limit > 0:`, `case policy == "allkeys-lru" && limit > 0:`,
		"a policy that evicts keys with a TTL counted as harmless",
		"inspect/doctor: TestSettings",
	},
	{
		"inspect/doctor/timing.go",
		`if p.ahead.Abs()-p.within < farClock {`, `if p.ahead.Abs() < farClock {`,
		"a slow network counted as a wrong clock",
		"inspect/doctor: TestAClockIsNotBlamedForTheNetwork",
	},
	{
		"inspect/doctor/rights.go",
		`if some[one.on] {`, `if true {`,
		"the line for the rights of a user lacked a pattern",
		"inspect/doctor: TestTheLineThatIsPrintedMendsTheRights",
	},
	{
		"inspect/doctor/read.go",
		`if p.err == nil {`, `if true {`,
		"a server that did not answer was asked on",
		"inspect/doctor: TestAServerThatFreezesOrIsGone",
	},
}
