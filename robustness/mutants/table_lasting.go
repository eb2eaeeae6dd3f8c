package main

// lasting decides how long a hold or a client lasts: least times, extensions, Shutdown.
var lasting = []mutant{
	{
		"internal/script/leave.lua",
		`redis.call('PEXPIRE', KEYS[1], ARGV[2])`, ``,
		"a lock stayed for its lease, not for its least time",
		"TestALockStaysForItsLeastTime",
	},
	{
		"internal/lock/request.go",
		`lease := max(opts.Lease, opts.MinHold)`, `lease := opts.Lease`,
		"a lease was shorter than the least time",
		"TestTheLeastTimeOutlivesTheProcess",
	},
	{
		"internal/lock/attempt.go",
		`if !a.leaveRequest(&requests[i]) {`, `if true {`,
		"a compensation freed a lock before its least time",
		"TestALateExtensionKeepsTheLeastTime",
	},
	{
		"internal/lock/least.go",
		`if !g.again {`, `if true {`,
		"a re-entry without replicas ended the least time of the hold around it",
		"TestAReentryThatIsNotReplicatedKeepsTheLeastTime",
	},
	{
		"internal/lock/extend.go",
		`		g.extend(result.Asked, term.Span(result.Asked))
`, `		_ = result.Asked
`,
		"an extension did not move the deadline",
		"TestExtendMakesAFixedLeaseLonger",
	},
	{
		"internal/lock/extend.go",
		`errors.Is(err, lockerr.ErrLost) || g.held() == 0 && g.stays()`, `false && errors.Is(err, lockerr.ErrLost)`,
		"an extension of a hold that was lost meanwhile kept the lock",
		"TestAnExtensionThatComesTooLateIsReleased, TestAnExtensionBehindAReleaseWithALeastTime",
	},
	{
		"internal/lock/lifecycle.go",
		`l.state.Load()&^(stopped|closing|drained) == 0 && l.held() == 0`, `l.held() == 0`,
		"Shutdown did not wait for what was under way",
		"TestAnAcquisitionUnderWayIsPartOfThePeace",
	},
	{
		"internal/lock/lifecycle.go",
		`	if l.state.Load()&stopped != 0 {
		l.settle()
	}`, `	_ = stopped`,
		"Shutdown waited for what had ended by itself",
		"TestShutdownDoesNotWaitForWhatHasEnded",
	},
	{
		"internal/lock/close.go",
		`	m.life.stop()
	m.queues.Close()`, `	m.life.stop()`,
		"Shutdown did not end the waits at once",
		"TestShutdownEndsWaitsAtOnce",
	},
	{
		"internal/lock/ref.go",
		`m.ref(name, script.NewMutex(m.settings.Prefix+name, m.settings.Messages))`, `m.ref(name, script.NewMutex(name, m.settings.Messages))`,
		"a mutex had no prefix",
		"TestTheSessionHasTheWholeName",
	},
	{
		"internal/session/session.go",
		`s.registry.enter(key, e, again)`, `s.registry.enter(key, e, false)`,
		"a waiter whose entry a watchdog had removed was not protected once it held",
		"TestAWaiterWhoseEntryIsGoneIsProtectedOnceItHolds",
	},
}
