package main

// wholes are changes to several locks as one.
var wholes = []mutant{
	{
		"internal/multilock/set.go",
		`return len(s.Members)/2 + 1`, `return (len(s.Members) + 1) / 2`,
		"half was enough in a quorum of an even number",
		"TestHalfOfAnEvenNumberOfServersIsNoMajority",
	},
	{
		"internal/multilock/set.go",
		`return len(s.Members)/2 + 1`, `return len(s.Members) / 2`,
		"half was enough",
		"TestHalfOfAnEvenNumberOfServersIsNoMajority",
	},
	{
		"internal/multilock/set.go",
		"	slices.SortStableFunc(members, Member.before)\n", "	_ = slices.SortStableFunc[[]Member]\n",
		"members were not sorted",
		"TestMultisNeverWaitForEachOther",
	},
	{
		"internal/multilock/backend.go",
		`slices.SortFunc(ends, time.Time.Compare)`, `slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })`,
		"the deadlines of the members were sorted the wrong way",
		"TestAWholeEndsWithTheMemberThatItCannotDoWithout",
	},
	{
		"internal/multilock/group.go",
		"	if g.hold.Ended() != nil {\n		g.mu.Unlock()\n		return false\n	}\n", "",
		"a member that was granted after the end of its group was kept and renewed",
		"TestAMemberThatIsGrantedAfterTheEndOfItsQuorumIsReleased",
	},
	{
		"internal/multilock/multi.go",
		"		_ = h.Unlock(o.caller)\n", "",
		"a member of a Multi that was granted after its end was not released",
		"TestAMemberThatIsGrantedAfterTheEndOfItsMultiIsReleased",
	},
	{
		"internal/multilock/multi.go",
		"			return firstPatience\n", "			return 0\n",
		"a Multi waited for ever while it held others",
		"TestMultisInDifferentOrdersDoNotWaitForEverForEachOther",
	},
	{
		"internal/multilock/multi.go",
		"		_ = pause.For(limited, min(4*time.Since(freed), time.Second))\n", "		_ = pause.For\n		_ = freed\n",
		"a Multi that released its members asked again at once",
		"TestAMultiThatLetsGoLeavesTimeForOthers",
	},
	{
		"internal/multilock/multi.go",
		`opts.Wait = max(time.Until(o.until), 1)`, `opts.Wait = o.whole.Wait`,
		"each member had a wait of its own",
		"TestTheMembersOfAMultiShareOneWait",
	},
	{
		"internal/multilock/group.go",
		"		g.Set.Members[0].Locks.Go(g.stopRenewals)\n", "",
		"what was left of a whole that was lost was renewed",
		"TestALostMemberEndsTheWholeAndTheRestRunsOut",
	},
	{
		"internal/multilock/group.go",
		`if i >= 0 && g.entries[i].state != missing && g.hold.Ended() == nil {`, `if i < 0 && g.hold.Ended() == nil {`,
		"the loss of a member was not noticed",
		"TestALostMemberEndsTheWholeAndTheRestRunsOut",
	},
	{
		"internal/multilock/group.go",
		"		g.entries[i].state = granted\n", "",
		"the lease of a whole began with its first member",
		"TestAFixedLeaseOfAMultiBeginsWithItsLastMember",
	},
	{
		"internal/multilock/group.go",
		"		g.unbind = time.AfterFunc(time.Until(g.end), func() { g.Expire() }).Stop\n", "",
		"the end of a whole was not noticed",
		"TestAWholeEndsAlthoughItsOwnerHoldsOn",
	},
	{
		"internal/multilock/quorum.go",
		`	return g.await(limited, granted, held)`, `	return g.wait(limited, func() bool { return g.count(asked) == 0 }) && g.await(limited, granted, held)`,
		"all servers were waited for",
		"TestAQuorumDoesNotWaitForASlowMinority",
	},
	{
		"internal/multilock/quorum.go",
		`if err != nil || !g.add(i, h, quarantine) {`, `if err != nil || !g.add(i, h, quarantine) && false {`,
		"a member of a quorum that was granted after its end was not released",
		"TestAMemberThatIsGrantedAfterTheEndOfItsQuorumIsReleased",
	},
	{
		"internal/multilock/restart.go",
		`if m.Restart.Delay < 0 || m.Restart.Never {`, `if true {`,
		"the age of a server was not asked",
		"TestAServerThatRestartsEmptyDoesNotLetASecondHolderIn",
	},
	{
		"internal/multilock/restart.go",
		`time.Duration(seconds-1) * time.Second`, `time.Duration(seconds) * time.Second`,
		"the uptime of a server was taken for exact",
		"TestAServerThatMayBeASecondYoungerDoesNotCountYet",
	},
	{
		"internal/multilock/restore.go",
		`if g.entries[i].state == missing && g.hold.Ended() == nil {`, `if false {`,
		"a missing member was not asked for again",
		"TestAMissingMemberIsTakenAgain",
	},
	{
		"internal/multilock/restore.go",
		`		g.pause = min(2*g.pause, g.Set.Members[0].Locks.RenewInterval(g.each[0].Lease))`, ``,
		"a missing member was asked for without a growing pause",
		"TestAMissingMemberIsAskedForOnceAnInterval",
	},
	{
		"internal/multilock/restore.go",
		`g.entries[i] = entry{state: asked}`, `g.entries[i].state = asked`,
		"the end of a former hold ended the next",
		"TestAMemberOnItsWayBackIsAskedForOnce",
	},
	{
		"internal/multilock/release.go",
		`if len(managers) == 1 {`, `if true {`,
		"members on several servers were released one after another",
		"TestAQuorumWorksWithAMinorityThatIsDeadOrFrozen",
	},
}
