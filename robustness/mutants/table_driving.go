package main

// driving are changes to the drivers and to the repetition of requests.
var driving = []mutant{
	{
		"internal/script/sending.go",
		`p.result.Repeated = p.result.Repeated || mayHaveRun(reply.Err) && !p.call.piggybacked`, `p.result.Repeated = p.result.Repeated || false`,
		"a repeated request was taken for the first",
		"internal/script: TestALostReplyIsResolvedByAskingAgain",
	},
	{
		"internal/script/sending.go",
		`!again[0].sourced {`, `true {`,
		"a server that forgets its scripts was asked without a pause",
		"internal/script: TestAServerThatForgetsEveryScriptIsNotAskedForEver",
	},
	{
		"driver/cluster/route.go",
		`err != nil && !refused {`, `err != nil && !refused && false {`,
		"a pipeline went on past an unknown outcome",
		"driver/cluster: TestNothingGoesBehindACommandWithoutAnAnswer",
	},
	{
		"driver/cluster/route.go",
		`slices.Insert(slices.Clone(commands), 0, asking))[1:]`, `slices.Insert(slices.Clone(commands), 0, asking)[1:])`,
		"a migrating slot was not asked for",
		"driver/cluster: TestAskIsForOneCommand",
	},
	{
		"driver/cluster/route.go",
		`			replies[i].Err = &driver.ServerError{Message: "TRYAGAIN redirected: " + reply.Err.Error()}`, `			replies[i].Err = reply.Err`,
		"a redirected command was refused for good",
		"driver/cluster: TestASlotMovesUnderAStreamOfCommands",
	},
	{
		"driver/cluster/redirect.go",
		`	d.migrations[to.slot].Store(&migration{to.address, time.Now().Add(migrationMemory)})`, ``,
		"migrating slots were not remembered",
		"driver/cluster: TestASlotStaysOpen, TestACommandThatWasOvertakenIsRefused",
	},
	{
		"driver/cluster/redirect.go",
		`	d.refreshSoon(to.address)`, ``,
		"a redirection did not renew the map",
		"driver/cluster: TestTheMapIsAskedForAFewTimesASecond",
	},
	{
		"driver/cluster/redirect.go",
		`		d.closeStale(from)`, ``,
		"a connection to the wrong server was kept",
		"driver/cluster: TestMovedToItsOwnNameLeadsToANewConnection",
	},
	{
		"driver/cluster/subscriber.go",
		"	for _, sub := range s.subscriptions {\n		s.request(sub)\n	}", "	for _, sub := range s.subscriptions {\n		if sub.confirmed {\n			s.request(sub)\n		}\n	}",
		"a subscription that was asked for when a connection broke stayed deaf",
		"driver/cluster: TestASubscriptionThatWasRequestedWhenTheConnectionBrokeIsRequestedAgain",
	},
	{
		"driver/cluster/subscriber.go",
		`sub.requested, sub.confirmed, sub.evicted = false, false, true`, `sub.requested, sub.confirmed, sub.evicted = false, false, false`,
		"an evicted channel did not follow the map",
		"driver/cluster: TestAnEvictedChannelFollowsTheMap",
	},
	{
		"driver/cluster/subscriber.go",
		`!sub.confirmed && s.unconfirmed[name] == 0`, `!sub.confirmed`,
		"a channel counted as subscribed at the first of two acknowledgements",
		"driver/cluster: TestAChannelIsHeardWhenAllIsAcknowledged",
	},
	{
		"driver/internal/single/queue.go",
		`if err := result.NonRedisError(); err == nil || err != ctx.Err() {`, `if result.NonRedisError() != nil || true {`,
		"the places of abandoned calls were given back at once",
		"driver/internal/single: TestFullQueueLeavesContextsTheirSay",
	},
	{
		"driver/internal/single/queue.go",
		`		return undated{ctx}`, `		return ctx`,
		"the end of one call ended the connection of all",
		"driver/internal/single: TestEndOfAContextSparesTheConnection",
	},
	{
		"driver/internal/single/readonly.go",
		`	if isReadOnly(refused) {`, `	if false {`,
		"a server that had become a replica was not left",
		"driver/internal/single: TestADemotedServerIsLeft",
	},
	{
		"driver/internal/single/readonly.go",
		`	d.spared = now.Add(call.Jittered(2 * leaveEvery))`, `	d.spared = now.Add(call.Jittered(1))`,
		"a server that refuses was connected to again and again",
		"driver/internal/single: TestARefusingServerIsNotStormed",
	},
	{
		"driver/sentinel/sentinels.go",
		`single.Drop(node, fmt.Errorf("%s is at %s now", s.options.Master, found.primary))`, `_ = fmt.Errorf("%v", single.Drop)`,
		"the connection was not dropped",
		"driver/sentinel: TestPartition, TestWatchTurnsToAnotherSentinel",
	},
	{
		"driver/sentinel/sentinels.go",
		`2*len(answers) > len(addresses) && best.epoch >= known.epoch {`, `2*len(answers) > len(addresses) {`,
		"an older epoch was believed",
		"driver/sentinel: TestOldConfigurationIsNotGoneBackTo",
	},
	{
		"driver/sentinel/sentinels.go",
		`if best.epoch < known.epoch && 2*len(answers) <= all {`, `if false {`,
		"a stale minority of the sentinels was adopted",
		"driver/sentinel: TestAStaleMinorityIsNotAdopted",
	},
	{
		"driver/sentinel/follow.go",
		`checks < checksEach && s.check(ctx, address)`, `s.check(ctx, address)`,
		"a sentinel that was cut off was followed for ever",
		"driver/sentinel: TestWatchTurnsToAnotherSentinel",
	},
	{
		"driver/sentinel/follow.go",
		`if strings.HasPrefix(payload, s.options.Master+" ") {`, `if strings.HasPrefix(payload, " ") {`,
		"sentinels were not subscribed to",
		"driver/sentinel: TestSwitchIsHeardAtOnce",
	},
}
