package main

// rooms says where mutants are sought, and in which packages tests run for them, the nearest first.
// A mutant is killed by the first test that fails. "." is the root package.
var rooms = []struct{ folder, tests string }{
	{".", "."},
	{"internal/script", "internal/script robustness/explore ."},
	{"internal/lock", "internal/lock robustness/sim ."},
	{"internal/multilock", "robustness/sim ."},
	{"internal/counter", "robustness/sim ."},
	{"internal/waitqueue", "internal/waitqueue robustness/sim ."},
	{"internal/renew", "internal/renew robustness/sim ."},
	{"internal/session", "internal/session robustness/sim watchdog ."},
	{"internal/protocol", "internal/protocol internal/script ."},
	{"driver/internal/call", "driver/internal/single driver/sentinel driver/cluster"},
	{"driver/internal/single", "driver/internal/single driver/rueidis ."},
	{"driver/cluster", "driver/cluster"},
	{"driver/sentinel", "driver/sentinel"},
	{"driver/goredis", "driver/goredis"},
	{"watchdog", "watchdog"},
	{"fence", "fence"},
	{"leader", "leader"},
	{"schedule", "schedule"},
	{"inspect", "inspect"},
	{"inspect/blocked", "inspect/blocked"},
	{"inspect/doctor", "inspect/doctor"},
	{"console", "console"},
	{"redlatchprom", "redlatchprom"},
	{"redlatchotel", "redlatchotel"},
	{"cmd/redlatch/internal/supervise", "cmd/redlatch/internal/supervise cmd/redlatch"},
}

// skipped are tests of the source text, which is the same for all mutants.
const skipped = "^TestHouse"
