package main

// supervising are changes to how a command is stopped before its lock ends.
var supervising = []mutant{
	{
		"cmd/redlatch/internal/supervise/schedule.go",
		`return deadline.Add(-s.margin) }`, `return deadline }`,
		"there was no margin",
		"cmd/redlatch/internal/supervise: TestAnyScheduleStopsInTimeAndNotTooEarly",
	},
	{
		"cmd/redlatch/internal/supervise/schedule.go",
		`return !now.Before(moment) || !now.Round(0).Before(moment.Round(0))`, `return !now.Before(moment)`,
		"a suspended machine did not stop the command",
		"cmd/redlatch/internal/supervise: TestAMomentHasPassedWhenEitherClockSaysSo",
	},
	{
		"cmd/redlatch/internal/supervise/schedule.go",
		`soon := now.Add(min(s.killAfter, lostKillAfter))`, `soon := now.Add(s.killAfter)`,
		"a command whose lock was lost had all its time to end",
		"cmd/redlatch/internal/supervise: TestALossKillsWhatDoesNotEndWithinTwoSeconds",
	},
	{
		"cmd/redlatch/internal/supervise/supervisor.go",
		"	s.kill(anywhere)\n}", "	s.kill(inGroup)\n}",
		"only the process group was stopped",
		"cmd/redlatch/internal/supervise: TestEverythingIsGoneBeforeTheDeadline",
	},
	{
		"cmd/redlatch/internal/supervise/supervisor.go",
		`s.tree.signal(where, unix.SIGTERM, unix.SIGCONT)`, `s.tree.signal(where, unix.SIGTERM)`,
		"a stopped command was asked to end and could not",
		"cmd/redlatch/internal/supervise: TestAStoppedCommandDiesOfALossToo",
	},
	{
		"cmd/redlatch/internal/supervise/supervisor.go",
		"	s.kill(inGroup)\n	return \"\"", "	return \"\"",
		"what a command had left in its group stayed",
		"cmd/redlatch/internal/supervise: TestWhatACommandLeavesInItsGroupIsStopped",
	},
	{
		"cmd/redlatch/internal/supervise/switch.go",
		`			next.Stop = alone`, `			return`,
		"the end of the pipe was ignored",
		"cmd/redlatch/internal/supervise: TestAKilledSupervisorsCommandIsTold",
	},
	{
		"cmd/redlatch/internal/supervise/instant.go",
		`i.Boot-bootTime(), i.Wall-now.UnixNano()`, `i.Boot-bootTime(), i.Boot-bootTime()`,
		"an order counted by one clock",
		"cmd/redlatch/internal/supervise: TestAnInstantIsOverWhenEitherClockSaysSo",
	},
	{
		"cmd/redlatch/internal/supervise/freeze.go",
		`		s.tree.stop(s.times.margin / 2) // also what somebody continued meanwhile`, ``,
		"a protected tree was not stopped",
		"cmd/redlatch: TestAProtectedRunThatIsStoppedGoesOn",
	},
	{
		"cmd/redlatch/internal/supervise/holder.go",
		`return h.stop(cmp.Or(h.stopping, SwitchDied)), nil`, `return End{Why: SwitchDied}, nil`,
		"the holder did not take over",
		"cmd/redlatch: TestASwitchThatIsKilled",
	},
	{
		"cmd/redlatch/internal/supervise/holder.go",
		`return (h.stopping != "" || !h.limits.Protect) && passed(h.limit(), now)`, `return false`,
		"the holder waited for a switch that was frozen",
		"cmd/redlatch: TestTheLastSignOfLifeComesBeforeTheEndOfTheLock",
	},
}
