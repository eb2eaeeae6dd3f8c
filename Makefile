# Every target that has a "##" stands in the help; plain make prints it.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# Random tests run this many times their usual number of rounds.
REDLATCH_STRETCH ?= 1
export REDLATCH_STRETCH

# When a process under the race detector ends, it waits for no more goroutines. Otherwise each takes a second more.
GORACE ?= atexit_sleep_ms=0
export GORACE

# Compilers, linkers and tests compute less when they collect garbage more rarely.
test long check: export GOGC ?= 300

# Packages built or tested at a time, and the time that one package may take. Most tests wait for servers, processes
# and leases, so there are more packages at a time than processors.
PARALLEL   ?= $(shell test "$$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)" = 1 && echo 2 || echo 4)
TEST_LIMIT ?= 15m
SOAK_LIMIT ?= 8h

# How tests are built: lint runs vet, and the linker takes half as long without debug information.
QUICK := -vet=off -ldflags=-w

# What one go command tests: the modules of go.work. Those that stand alone have large libraries.
# The go command begins with the first. What takes longest comes first, so that it is not left over at the end.
WORK  := ./tests/... ./cmd/redlatch/... ./driver/goredis/... ./robustness/... ./watchdog ./schedule ./... \
	./redlatchotel/... ./redlatchprom/... ./schedule/gocron/...
ALONE := bench bucket deploy e2e examples/transfer fence/databases

.PHONY: test
test: need format ## what everybody runs: every room's tests under the race detector, short random runs, one real server
	go test -race $(QUICK) -p $(PARALLEL) -timeout $(TEST_LIMIT) -skip '^Test(Long|Guests)' $(WORK)

.PHONY: check
check: long interop lint guests e2e others sample sim cross redis8 costs ## what takes minutes and make test leaves out, on more servers and systems
	@echo "make check: passed"

.PHONY: need
need:
	scripts/need go gcc redis-server

.PHONY: format
format:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || \
		{ echo "not formatted (make fix does it):"; echo "$$unformatted"; exit 1; }

.PHONY: long
long: need ## the tests that wait for minutes in real time: failovers, frozen servers, long random runs (TestLong…)
	go test -race $(QUICK) -p $(PARALLEL) -timeout $(TEST_LIMIT) -run '^TestLong' ./watchdog ./cmd/redlatch ./tests/product \
		$$(grep -rl --include='*_test.go' '^func TestLong' . | xargs -n 1 dirname | sort -ru)

.PHONY: guests
guests: need ## what a user gets: programs of strangers on packed releases, and our tests with the lowest versions required
	go test $(QUICK) -count=1 -v -timeout $(TEST_LIMIT) ./tests/guests
	scripts/lowest driver/goredis redlatchotel redlatchprom schedule/gocron
	WITH=$$(sed -n 's|^\t\(.*go-redis/v9\) |\1@|p' bench/go.mod) scripts/lowest driver/goredis # it leaves retries to commands

.PHONY: costs
costs: need ## count allocations, of which the race detector has its own
	go test -run '^TestCosts' ./driver/rueidis ./driver/goredis

.PHONY: others
others: ## the modules that stand alone: benchmarks, SQL on PostgreSQL and MariaDB, S3, Prometheus, Kubernetes
	scripts/need go gcc redis-server initdb mariadbd prometheus curl
	@for module in $(filter-out e2e,$(ALONE)); do \
		echo "test $$module"; \
		(cd "$$module" && GOWORK=off go test $(QUICK) -timeout $(TEST_LIMIT) ./...) || exit 1; \
	done

# Pinned in a module of its own, so that no other module requires it.
bin/staticcheck: tools/go.mod
	cd tools && GOWORK=off go build -o $(CURDIR)/bin/staticcheck honnef.co/go/tools/cmd/staticcheck

# What it needs compiled was compiled for make test, with the race detector.
.PHONY: lint
lint: format bin/staticcheck ## gofmt, go vet and staticcheck over every module; changes nothing
	go vet -race $(WORK)
	GOFLAGS="$$GOFLAGS -race" bin/staticcheck $(WORK)
	go vet -race -tags interop ./interop
	GOFLAGS="$$GOFLAGS -race" bin/staticcheck -tags interop ./interop
	@for module in $(ALONE); do \
		echo "lint $$module"; \
		(cd "$$module" && GOWORK=off go vet ./... && GOWORK=off $(CURDIR)/bin/staticcheck ./...) || exit 1; \
	done

# Where the library and the command also run.
SYSTEMS := windows darwin

.PHONY: cross
cross: ## compile what is released for the other systems, windows and darwin, without optimizing it
	@for system in $(SYSTEMS); do \
		echo "cross $$system"; \
		CGO_ENABLED=0 GOOS=$$system go build -gcflags='all=-N -l' $$(scripts/modules released | sed 's|.*|./&/...|') || exit 1; \
	done

.PHONY: fix
fix: ## format the code
	gofmt -w .

.PHONY: man
man: ## write the manual page, deploy/redlatch.1, from the help
	go run ./cmd/redlatch man >deploy/redlatch.1

.PHONY: bench
bench: ## measure redlatch beside its rivals and the raw server
	scripts/need go redis-server
	cd bench && GOWORK=off go run .

.PHONY: bench-quick
bench-quick: ## the same in about a minute, with more noise
	scripts/need go redis-server
	cd bench && GOWORK=off go run . -quick

.PHONY: demo
demo: ## watch processes share a lock, renew it, die with it and get it back
	go run ./cmd/redlatch demo

.PHONY: soak
soak: ## lock for an hour, measure what must not grow: make soak REDLATCH_SOAK=8h
	scripts/need go redis-server
	REDLATCH_SOAK=$${REDLATCH_SOAK:-1h} \
		go test -count=1 -v -run NothingGrows -timeout 0 ./robustness/soak

.PHONY: inspect-scale
inspect-scale: ## what looking for locks costs among ten million keys: make inspect-scale REDLATCH_SCALE=1000000
	scripts/need go redis-server
	REDLATCH_SCALE=$${REDLATCH_SCALE:-10000000} go test -count=1 -v -run '^TestScale$$' -timeout 30m ./inspect

.PHONY: stretch
stretch: need ## run every test afresh, the random ones longer: make stretch REDLATCH_STRETCH=50
	go test -race -count=1 -p $(PARALLEL) -timeout $(SOAK_LIMIT) $(WORK)

.PHONY: drills
drills: ## fail over under load, count what goes wrong, print the table: make drills REDLATCH_DRILL=10m
	scripts/need go redis-server
	cd robustness && REDLATCH_DRILL=$${REDLATCH_DRILL:-1m} go test -count=1 -parallel 1 -timeout $(SOAK_LIMIT)

.PHONY: explore
explore: ## every interleaving of the scripts, deeper than in the tests: make explore REDLATCH_STRETCH=50
	REDLATCH_STRETCH=$(if $(filter 1,$(REDLATCH_STRETCH)),10,$(REDLATCH_STRETCH)) \
		go test -count=1 -v -run Interleaving -timeout $(SOAK_LIMIT) ./robustness/explore

# A number of inputs. Given a time, go test now and then reports the end of it as a failure.
FUZZ_INPUTS ?= 500000x

.PHONY: fuzz
fuzz: ## give every parser half a million hostile inputs: make fuzz FUZZ_INPUTS=9000000x
	scripts/fuzz $(FUZZ_INPUTS)

# A hundred take about half an hour. All of a room: MUTANTS='-only ^internal/renew/'.
MUTANTS ?= -sample 100

.PHONY: mutants
mutants: ## break the code at a hundred random places and see that tests notice: make mutants MUTANTS=-hand
	scripts/need go gcc redis-server
	go run ./robustness/mutants $(MUTANTS)

.PHONY: sample
sample: ## break the code at six random places of the list by hand; a survivor fails
	scripts/need go gcc redis-server
	go run ./robustness/mutants -hand -sample 6

.PHONY: guarantees
guarantees: ## write how each promise was seen red into docs/guarantees.md, from the mutants by hand
	go run ./robustness/mutants -docs

# So many simulated hours, but for no longer than this, from this seed on.
REDLATCH_HOURS ?= 10000
REDLATCH_SIM   ?= 3m
REDLATCH_SEED  ?= 1000

.PHONY: sim
sim: ## explore the scripts and simulate the library for 10,000 hours: make sim REDLATCH_HOURS=9000000 REDLATCH_SIM=8h
	go test $(QUICK) -run Interleaving ./robustness/explore # the race detector makes it go three moves less deep
	REDLATCH_HOURS=$(REDLATCH_HOURS) REDLATCH_SIM=$(REDLATCH_SIM) REDLATCH_SEED=$(REDLATCH_SEED) \
		go test -count=1 -v -run TestNoPromiseBreaksWhateverGoesWrong -timeout $(SOAK_LIMIT) ./robustness/sim

# What talks to a server. The other packages do not care which one it is.
SERVED := ./driver/... ./driver/goredis/... ./internal/... ./fence ./watchdog ./inspect ./robustness ./robustness/histories ./examples/... ./tests/...

# Redis 6.2 can be named as well. Tests fail there: docs/servers.md.
RELEASES ?= redis-8.2 valkey-9.1 valkey-8.1

.PHONY: servers
servers: ## run tests on other servers: Redis 8.2, Valkey 9.1 and 8.1, and versitygw for S3
	scripts/need go gcc redis-server initdb mariadbd curl python3
	@for release in $(RELEASES); do \
		echo "servers $$release"; server=$$(scripts/server $$release) || exit 1; \
		REDLATCH_SERVER=$$server go test -race -count=1 -p $(PARALLEL) -timeout $(TEST_LIMIT) \
			-skip 'TLS|Encrypted' $(SERVED) || exit 1; \
	done # these builds have no TLS
	cd bucket && GOWORK=off REDLATCH_S3=versitygw go test -count=1 -timeout $(TEST_LIMIT) ./...

.PHONY: redis8
redis8: ## run a driver, the scripts and the locks on Redis 8.2, in a minute
	scripts/need go gcc python3
	server=$$(scripts/server redis-8.2) && REDLATCH_SERVER=$$server go test -race $(QUICK) -count=1 -timeout $(TEST_LIMIT) \
		-skip '^TestLong|TLS|Encrypted' ./driver/rueidis ./internal/script ./tests/locks

.PHONY: e2e
e2e: ## look at the console with a real browser, in a minute
	scripts/need go redis-server chromium
	cd e2e && GOWORK=off go test -count=1 -timeout 6m .

.PHONY: interop
interop: ## contend with clients that others wrote, which needs a JDK, Maven, Node and npm
	scripts/need go gcc redis-server javac java mvn node npm
	interop/java/build
	interop/node/build
	go test $(QUICK) -race -tags interop -count=1 -parallel 8 -timeout $(TEST_LIMIT) ./interop
