package main

// protecting are changes to sessions and to the watchdog.
var protecting = []mutant{
	{
		"internal/lock/grant.go",
		`term.Every > 0 && term.Over(now) && s.Guarded()`, `term.Every > 0 && false`,
		"a protected hold was lost after a pause",
		"TestAHoldInDoubtLivesOnWhenRedisHasIt",
	},
	{
		"internal/lock/backend.go",
		`return !g.Term().Over(time.Now())`, `return g.end == nil`,
		"Valid was true before the confirmation",
		"TestAHoldInDoubtLivesOnWhenRedisHasIt",
	},
	{
		"internal/lock/grant.go",
		`g.manager.session != nil && g.Term().Over(time.Now())`, `false`,
		"an unconfirmed hold that was gone could be unlocked",
		"TestALostReplyToTheReleaseOfAHoldInDoubtIsALoss",
	},
	{
		"internal/lock/attempt.go",
		"	} else {\n		a.unprotect()\n	}", "	}",
		"the record of a refused lock was left",
		"TestNoRecordIsLeftHoweverAnAttemptOrAHoldEnds",
	},
	{
		"internal/lock/grant.go",
		"	g.remove()\n	g.unprotect()\n", "	g.remove()\n",
		"the record of a lost lock was left",
		"TestNoRecordIsLeftHoweverAnAttemptOrAHoldEnds",
	},
	{
		"internal/session/heartbeat.go",
		`const maxUnguarded = 3`, `const maxUnguarded = 1`,
		"one heartbeat without a watchdog was enough",
		"internal/session: TestAWatchdogThatIsLateForAMomentIsNotTakenForDead",
	},
	{
		"internal/session/heartbeat.go",
		`const maxUnguarded = 3`, `const maxUnguarded = 5`,
		"five heartbeats without a watchdog were needed",
		"internal/session: TestAWatchdogThatIsLateForAMomentIsNotTakenForDead",
	},
	{
		"internal/session/heartbeat.go",
		`case watchdogs > 0 && s.told != "":`, `case watchdogs > 0:`,
		"the pulse was not checked",
		"internal/session: TestAClientWithoutAPulseSaysThatItIsNotProtected",
	},
	{
		"internal/session/heartbeat.go",
		"		s.guarded.Store(false)\n", "",
		"a client whose heartbeats were refused counted as protected",
		"internal/session: TestAHeartbeatThatIsRefusedEndsTheGuard",
	},
	{
		"internal/session/heartbeat.go",
		`case many, !reachable && size > 0:`, `case many:`,
		"what had left during an outage stayed on record",
		"internal/session: TestWhatWasLeftInAnOutageIsForgottenByABusyClient",
	},
	{
		"internal/session/heartbeat.go",
		`case few || found.Joined || !reachable:`, `case few && found.Joined:`,
		"entries that Redis has lost were not told again",
		"internal/session: TestASessionThatWasLostOrChangedIsBackAfterTheNextHeartbeat",
	},
	{
		"internal/session/registry.go",
		`if !done || r.entries[key].version != e.version {`, `if !done || e.version < 0 {`,
		"an entry that changed while it was told was not told again",
		"internal/session: TestWhatIsToldTooLateIsToldAgain",
	},
	{
		"internal/session/registry.go",
		`n := since.underWay + now.version - since.version`, `n := since.underWay + now.version - since.version + 1`,
		"one lost entry was explained by nothing",
		"internal/session: TestASessionThatWasLostOrChangedIsBackAfterTheNextHeartbeat",
	},
	{
		"internal/session/pulse.go",
		`name := random.Text()`, `name := random.Text()[:0] + "pulse"`,
		"the name of a pulse stayed",
		"internal/session: TestThePulseIsBackUnderAnotherNameAfterItsConnectionWasCut, TestAPulseThatWasAcknowledgedTwiceGetsAnotherName",
	},
	{
		"internal/session/session.go",
		`return s.now.Add(local.Sub(s.nowAt))`, `return time.Now().Add(time.Until(local))`,
		"the end of an entry was told by the client's clock",
		"internal/session: TestTheEndOfAnEntryIsToldByTheServersClock",
	},
	{
		"watchdog/visit.go",
		`if !protocol.OwnField(v.Client, e.Field) {`, `if false {`,
		"the owner of an entry was not compared",
		"watchdog: TestARecordMovesNothingThatIsNotItsClients",
	},
	{
		"watchdog/visit.go",
		`if v.seen.now.Sub(v.Due) > v.config.MaxPause {`, `if false {`,
		"a client was renewed however long it was paused",
		"watchdog: TestAClientThatIsPausedForTooLongIsLetGo",
	},
	{
		"watchdog/visit.go",
		`	case !alive:`, `	case !alive && false:`,
		"a client without a pulse was renewed",
		"watchdog: TestADeadClientsLocksEndWithTheirLeasesAndItsSessionIsRemoved",
	},
	{
		"watchdog/pulse.go",
		`return w.pulsingElsewhere(ctx, channel)`, `return false, nil`,
		"only one server of a cluster was asked for a pulse",
		"watchdog: TestAPulseIsFoundWhereItsSlotHasBeen",
	},
	{
		"watchdog/schedule.go",
		`return r.last.Add(r.lease / 4)`, `return r.last.Add(r.lease)`,
		"a paused client was visited once a lease",
		"watchdog: TestAPausedClientKeepsHoldsOfEveryKind",
	},
	{
		"watchdog/schedule.go",
		`return alternate(alternate(fresh[:half:half], fresh[half:]), known)`, `return append(append(fresh[:half:half], fresh[half:]...), known...)`,
		"new clients were visited before all known ones",
		"watchdog: TestNewAndKnownClientsAreVisitedInTurn",
	},
	{
		"watchdog/look.go",
		`w.recent = w.all > maxStalled`, `w.recent = false`,
		"a look saw the oldest names only",
		"watchdog: TestManyInventedNamesHideNobody",
	},
}
