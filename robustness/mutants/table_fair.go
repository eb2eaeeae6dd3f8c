package main

// fairScripts are changes to the Lua of fair locks.
var fairScripts = []mutant{
	{
		"internal/script/fair_acquire.lua",
		`    begin(lock, lease)`, ``,
		"a grant in a queue had no expiry",
		"cmd/redlatch: TestNothingIsLeftWhateverDies",
	},
	{
		"internal/script/fair_acquire.lua",
		`redis.call('RPUSH', queue, owner)`, `redis.call('LPUSH', queue, owner)`,
		"new waiters were queued at the front",
		"TestAFairMutexServesInTheOrderOfArrivalAcrossProcesses",
	},
	{
		"internal/script/fair_acquire.lua",
		"if not holder and (not first or first == owner) then\n  return grant()\nend\nttl = ttl or -2", "if not holder then\n  return grant()\nend\nttl = ttl or -2",
		"a free lock went to whoever asked",
		"internal/script: TestAFreeLockIsKeptForTheNext",
	},
	{
		"internal/script/fair_acquire.lua",
		`elseif first ~= owner then`, `elseif false then`,
		"every waiter was told the TTL",
		"internal/script: TestAFreeLockIsKeptForTheNext",
	},
	{
		"internal/script/fair_acquire.lua",
		"  set_deadlines(slot, tonumber(lease))\n  return granted", "  return granted",
		"a grant left the deadlines as they were",
		"TestAJavaWaiterComesToTheHeadWithTimeToCome",
	},
	{
		"internal/script/fair_release.lua",
		`(was == owner or removed > 0)`, `removed > 0`,
		"a waiter that left the front of a free lock told nobody",
		"internal/script: TestWhoLeavesTheFrontOfAFreeLockTellsTheNext",
	},
	{
		"internal/script/fair_release.lua",
		`(was == owner or removed > 0)`, `was == owner`,
		"who left behind the dead told nobody",
		"internal/script: TestWhoLeavesBehindTheDeadTellsTheNext",
	},
	{
		"internal/script/fair_release.lua",
		`if first and (held or`, `if first and (false or`,
		"a release did not tell the next",
		"internal/script: TestEveryEndOfAHoldTellsTheNext",
	},
	{
		"internal/script/fair_keepalive.lua",
		`if first and ttl == -2 then`, `if false then`,
		"a keep-alive never announced a free lock",
		"internal/script: TestAKeepAliveTellsTheNextOfAFreeLock",
	},
	{
		"internal/script/fair_keepalive.lua",
		`  dequeue(ARGV[i])`, ``,
		"an owner without a waiter was kept",
		"TestAWaiterWhoseLeaveWasLostDoesNotBlockTheQueue",
	},
	{
		"internal/script/fair_keepalive.lua",
		`set_deadlines(tonumber(ARGV[1]), ttl, window)`, `set_deadlines(tonumber(ARGV[1]), ttl)`,
		"keep-alives did not raise deadlines",
		"TestALongHoldDoesNotAgeFairWaitersOut",
	},
	{
		"internal/script/fair_keepalive.lua",
		`client_of(first) == client or`, `true or`,
		"every client checked the front of the queue",
		"internal/script: TestNoFairStepDependsOnTheNumberOfWaiters",
	},
	{
		"internal/script/fair_queue.inc",
		`near and 1 or -1`, `0`,
		"who left was sought in the whole queue",
		"internal/script: TestWhoLeavesIsFoundFromTheNearerEnd",
	},
	{
		"internal/script/fair_force.lua",
		`if first then`, `if false then`,
		"a forced unlock did not tell the next",
		"internal/script: TestEveryEndOfAHoldTellsTheNext",
	},
	{
		"internal/script/fair_queue.inc",
		`return at + silence <= now and outage() + silence <= now`, `return false`,
		"keep-alives were ignored",
		"TestALonelyTryLockPassesOverTheDead",
	},
	{
		"internal/script/fair_queue.inc",
		`return at + silence <= now and outage() + silence <= now`, `return at + silence <= now`,
		"an outage counted as silence",
		"TestTheOrderStandsAfterAnOutage",
	},
	{
		"internal/script/fair_queue.inc",
		`and ended + 10000 <= now then`, `then`,
		"every slow keep-alive ended an outage",
		"TestSlowBeatsDoNotKeepTheDeadAlive",
	},
	{
		"internal/script/fair_queue.inc",
		`want = now + math.min(slot, head_time)`, `want = now + slot`,
		"the deadline of a Java waiter at the head was not capped",
		"TestADeadJavaWaiterBlocksForTenSecondsAtMost",
	},
	{
		"internal/script/fair_queue.inc",
		`      need = need + deduction(slot)`, ``,
		"Java waiters in front were not counted",
		"TestJavaThreadsThatAcquireDoNotAgeOursOut",
	},
	{
		"internal/script/fair_queue.inc",
		`max_removed = 1000, 5000`, `max_removed = 1000, 500000`,
		"the dead waiters removed in one call had no bound",
		"internal/script: TestDeadForeignersAreRemovedInBoundedSteps",
	},
}
