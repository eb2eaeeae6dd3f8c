package main

// simulated are changes that the simulation finds: of a Cluster, and of replicas that take over.
var simulated = []mutant{
	{
		"internal/script/rw.inc",
		`redis.call('EXISTS', lock, missing)`, `local _ = missing`,
		"a reader whose keys were on two servers was taken for dead",
		"TestNoReaderLosesItsLockWhileItsKeysAreOnTwoServers",
	},
	{
		"internal/script/rw.inc",
		`if not settled then`, `if settled then`,
		"a reader whose keys were on two servers was taken for dead, in the simulation",
		"robustness/sim: TestSlotsThatMoveBreakNoPromise",
	},
	{
		"internal/script/answer.go",
		`"TRYAGAIN":    true,`, `"TRYAGAIN":    false,`,
		"a call that a migrating slot refused was not repeated",
		"robustness/sim: TestSlotsThatMoveBreakNoPromise",
	},
	{
		"internal/lock/confirm.go",
		`had < opts.Replicas`, `had < 0`,
		"a hold that too few replicas had was granted",
		"robustness/sim: TestReplicasThatTakeOverBreakNoPromise",
	},
	{
		"internal/lock/renewal.go",
		`Held: all[i].Held`, `Held: true`,
		"nobody was told that a replica without the hold had taken over",
		"robustness/sim: TestReplicasThatTakeOverBreakNoPromise",
	},
}
