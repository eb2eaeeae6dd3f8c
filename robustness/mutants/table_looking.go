package main

// looking breaks how locks are found and shown.
var looking = []mutant{
	{
		"inspect/walk.go",
		`(lost != nil || now.migrating())`, `(lost != nil && now.migrating())`,
		"a walk during which a slot had moved was not repeated",
		"inspect: TestALockWhoseSlotMovesDuringTheWalkIsFound",
	},
	{
		"inspect/walk.go",
		`(lost != nil || now.migrating())`, `(lost != nil)`,
		"a walk during which a slot was migrating was not repeated",
		"inspect: TestALockOfAMigratingSlotIsFound",
	},
	{
		"inspect/layout.go",
		`return errMoved`, `return nil`,
		"nobody noticed that slots moved or that a server was restarted during a walk",
		"inspect: TestSlotsThatMoveAllTheTimeAreAnError, TestAWalkOverARestart",
	},
	{
		"inspect/layout.go",
		`n := l.unserved(); n > 0`, `n := l.unserved(); n > 1`,
		"a slot without a server was not said",
		"inspect: TestSlotsWithoutAServerAreAnError",
	},
	{
		"inspect/walk.go",
		`case one.err == nil && one.isLock, queues`, `case one.err == nil, queues`,
		"data counted as a lock",
		"inspect: TestDataIsNoLock",
	},
	{
		"inspect/findings.go",
		`if w.Deadline.IsZero() {`, `if false {`,
		"a waiter without a deadline was no finding",
		"inspect: TestFindings",
	},
	{
		"inspect/findings.go",
		`return !w.Deadline.Before(found.Now)`, `return w.Deadline.IsZero()`,
		"a queue of living waiters counted as abandoned",
		"inspect: TestFindings",
	},
	{
		"inspect/processes.go",
		`return h.Protection.Dead`, `return true`,
		"a holder whose heartbeat is in time counted as one without a connection",
		"inspect: TestAHolderWithAHeartbeatHasAConnection",
	},
	{
		"inspect/diff.go",
		`left > 0 || h.TTL < 0`, `left >= 0`,
		"an expiry was told as a release",
		"inspect: TestDiff",
	},
	{
		"inspect/diff.go",
		`if !c.prev.serverTime.IsZero() &&`, `if false &&`,
		"a reply that came late was told as a renewal",
		"inspect: TestALateReplyIsNoRenewal",
	},
	{
		"inspect/pace.go",
		`p.next = at.Add(time.Duration(n) * p.each)`, `p.next = at.Add(p.each)`,
		"several commands counted as one for the rate",
		"inspect: TestTheRateHoldsForAllCommands",
	},
	{
		"inspect/blocked/read.go",
		`r.fail(fmt.Errorf("lock %q: %w", s.name, err))`, `r.graph.LeftOut = true`,
		"a lock that could not be read was no error",
		"inspect/blocked: TestAClusterOfWhichAServerIsAway",
	},
	{
		"cmd/redlatch/deadlocks.go",
		`case graph.LeftOut:`, `case false:`,
		"deadlocks exited with 0 when not all was read",
		"cmd/redlatch: TestScripts",
	},
	{
		"inspect/doctor/data.go",
		`case aof == "1" && p.info["aof_last_write_status"] == "err":`, `case aof == "2":`,
		"a server that refuses every write counted as harmless",
		"inspect/doctor: TestServersOfEachKind",
	},
	{
		"console/guard.go",
		`if !g.private && !g.allowed(r.Host) {`, `if false {`,
		"a foreign page could read the console under a name of its own",
		"console: TestForeignNamesAreRefused",
	},
	{
		"console/guard.go",
		`if g.private && !g.known(w, r) {`, `if false && !g.known(w, r) {`,
		"a private console gave its data without the token",
		"console: TestAPrivateConsoleNeedsItsTokenForAllData",
	},
	{
		"console/guard.go",
		`if g.wrong.count(origin(r.RemoteAddr), time.Now()) {`, `if true {`,
		"wrong tokens filled the log",
		"console: TestTheLogHasSoManyWrongTokensOfOneOriginInAMinute",
	},
	{
		"console/unlock.go",
		`c.forceable(lock).ForceUnlockIf(ctx, owner)`, `c.options.Unlock.Mutex(lock.Name).ForceUnlock(ctx)`,
		"the console took a lock from another owner than the one that it had shown",
		"console: TestALockWithANewOwnerIsLeftAlone",
	},
	{
		"console/viewer.go",
		"v.drop()\n\t\treturn false", "return true",
		"a viewer that did not read was kept, with gaps",
		"console: TestASlowViewerIsDropped",
	},
	{
		"console/history.go",
		`if len(s.events) > maxStory {`, `if false {`,
		"the events of one lock had no bound",
		"console: TestTheHistoryIsBounded",
	},
	{
		"console/waits.go",
		`certain[at] || c.Sure`, `certain[at] || len(c.Edges) > 0`,
		"the page called a possible cycle certain",
		"console: TestWaitsOfACertainCycleSaySo",
	},
}

// turns breaks who leads and who runs a job.
var turns = []mutant{
	{
		"leader/lead.go",
		`h.Detach() // a release`, `_ = h.Unlock(ctx) // a release`,
		"the lock of a leader whose work went on was released",
		"leader: TestWorkThatHangsIsReported",
	},
	{
		"leader/lead.go",
		`soon.Reset(left - cb.StepDown)`, `soon.Reset(left)`,
		"a leader did not step down before its lease ended",
		"leader: TestALeaderStepsDownBeforeItsLeaseEnds",
	},
	{
		"leader/lead.go",
		`panicked, back := cb.awaitReturn(returned)`, `_ = h.Unlock(ctx); panicked, back := cb.awaitReturn(returned)`,
		"the lock was released before the leader's work had ended",
		"leader: TestTheLockIsReleasedOnlyAfterTheWork",
	},
	{
		"leader/lead.go",
		`panic(panicked)`, `return true, panicked`,
		"a panic of the leader's work did not reach the caller",
		"leader: TestAPanicReleasesTheLockAndReachesTheCaller",
	},
	{
		"leader/run.go",
		`case final(err):`, `case err != nil:`,
		"an outage ended the election",
		"leader: TestTheElectionGoesOnAfterAnOutage",
	},
	{
		"schedule/run.go",
		`redlatch.WithFencing(), redlatch.WithMinHold(atLeast))`, `redlatch.WithFencing())`,
		"machines whose clocks differ ran one time twice",
		"schedule: TestClocksMayDiffer",
	},
	{
		"schedule/run.go",
		`r.once(ctx, due, atLeast/2, opts)`, `r.once(ctx, due, time.Hour, opts)`,
		"a run began after the lock might have been released elsewhere",
		"schedule: TestALateGrantRunsNothing",
	},
	{
		"schedule/run.go",
		`if fresh.IsZero() || fresh.After(due) {`, `if false {`,
		"times that a long run had missed were made up for",
		"schedule: TestAJobThatOverruns",
	},
	{
		"schedule/run.go",
		`return min(r.job.AtLeast, max(next.Sub(due)/2, shortestHold)), nil`, `return r.job.AtLeast, nil`,
		"the lock of one run kept the next from running",
		"schedule: TestAtLeastDoesNotReachTheNextRun",
	},
	{
		"schedule/run.go",
		`r.options(atLeast)...); final(err) {`, `r.options(atLeast)...); final(err) && due.IsZero() {`,
		"a lock that cannot work was refused only at the first time",
		"schedule: TestWhatCannotWorkIsRefused, TestOptionsThatCannotWorkAreRefusedAtTheStart",
	},
}
