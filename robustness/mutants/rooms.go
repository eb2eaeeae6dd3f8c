package main

// rooms says where mutants are sought, and in which packages tests run for them, the nearest first.
// A mutant is killed by the first test that fails.
var rooms = []struct{ folder, tests string }{
	{".", ". tests/locks tests/clients tests/wholes tests/counters tests/observe"},
	{"internal/script", "internal/script robustness/explore tests/locks tests/fair tests/leases tests/counters inspect"},
	{"internal/lock", "internal/lock tests/locks tests/leases tests/kinds tests/faults tests/cohorts tests/fair tests/clients tests/observe robustness/sim"},
	{"internal/cohort", "tests/cohorts tests/kinds robustness/sim"},
	{"internal/multilock", "internal/multilock tests/kinds tests/wholes robustness/sim"},
	{"internal/counter", "internal/counter tests/counters tests/kinds robustness/sim"},
	{"internal/waitqueue", "internal/waitqueue tests/locks tests/polling tests/fair robustness/sim"},
	{"internal/renew", "internal/renew tests/leases robustness/sim"},
	{"internal/session", "internal/session tests/leases watchdog robustness/sim tests/weather"},
	{"internal/protocol", "internal/protocol internal/script tests/clients"},
	{"driver/internal/call", "driver/internal/single driver/sentinel driver/cluster"},
	{"driver/internal/single", "driver/internal/single driver/rueidis tests/weather"},
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
