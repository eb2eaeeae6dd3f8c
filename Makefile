# Every target that has a "##" stands in the help; plain make prints it.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# Random tests run this many times their usual number of rounds.
REDLATCH_STRETCH ?= 1
export REDLATCH_STRETCH

# Packages tested at a time, and the time that one package may take.
PARALLEL   ?= 2
TEST_LIMIT ?= 15m
SOAK_LIMIT ?= 8h

# Pinned in a module of its own, so that users' go.sum stays short.
STATICCHECK := go tool -modfile=$(CURDIR)/tools/go.mod staticcheck

# The modules with code of ours; tools has none, it only pins.
MODULES := $(patsubst %/,%,$(dir $(filter-out tools/go.mod,$(wildcard go.mod */go.mod))))

.PHONY: help
help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: need lint ## install what is missing, lint, run every test under the race detector
	go test -race -p $(PARALLEL) -timeout $(TEST_LIMIT) ./...
	go test -run '^TestCosts' ./driver/rueidis # counts allocations, of which the race detector has its own

.PHONY: need
need:
	scripts/need go gcc redis-server initdb curl

.PHONY: lint
lint: ## gofmt, go vet and staticcheck over every module; changes nothing
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || \
		{ echo "not formatted (make fix does it):"; echo "$$unformatted"; exit 1; }
	@for module in $(MODULES); do \
		echo "lint $$module"; \
		(cd "$$module" && go vet ./... && $(STATICCHECK) ./...) || exit 1; \
	done
	go vet -tags interop ./interop

# Where the library and the command also run. Not a part of lint: the first time it takes two
# minutes of a processor for each.
SYSTEMS := windows darwin

.PHONY: cross
cross: ## build and vet for the other systems: windows, darwin
	@for system in $(SYSTEMS); do \
		echo "cross $$system"; \
		CGO_ENABLED=0 GOOS=$$system go build ./... && CGO_ENABLED=0 GOOS=$$system go vet ./... || exit 1; \
	done

.PHONY: fix
fix: ## format the code
	gofmt -w .

.PHONY: bench
bench: ## measure redlatch beside its rivals and the raw server
	scripts/need go redis-server
	cd bench && go run .

.PHONY: demo
demo: ## watch processes share a lock, renew it, die with it and get it back
	go run ./cmd/redlatch demo

.PHONY: soak
soak: need ## run every test afresh, the random ones longer: make soak REDLATCH_STRETCH=50
	go test -race -count=1 -p $(PARALLEL) -timeout $(SOAK_LIMIT) ./...

.PHONY: drills
drills: ## fail over under load, count what goes wrong, print the table: make drills REDLATCH_DRILL=10m
	scripts/need go redis-server
	cd robustness && REDLATCH_DRILL=$${REDLATCH_DRILL:-1m} go test -count=1 -parallel 1 -timeout $(SOAK_LIMIT)

.PHONY: explore
explore: ## every interleaving of the scripts, deeper than in the tests: make explore REDLATCH_STRETCH=50
	REDLATCH_STRETCH=$(if $(filter 1,$(REDLATCH_STRETCH)),10,$(REDLATCH_STRETCH)) \
		go test -count=1 -v -run Interleaving -timeout $(SOAK_LIMIT) ./robustness/explore

.PHONY: valkey
valkey: ## run the tests that need a server on Valkey
	scripts/need go gcc valkey-server initdb curl
	REDLATCH_SERVER=valkey-server go test -race -count=1 -p $(PARALLEL) -timeout $(TEST_LIMIT) ./...

.PHONY: interop
interop: ## contend with clients that others wrote, which needs a JDK, Maven, Node and npm
	scripts/need go gcc redis-server javac java mvn node npm
	interop/java/build
	interop/node/build
	go vet -tags interop ./interop
	$(STATICCHECK) -tags interop ./interop
	go test -race -tags interop -count=1 -v -parallel 8 -timeout $(TEST_LIMIT) ./interop
