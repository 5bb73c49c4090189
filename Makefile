# make up    runs a cluster of 3 primaries and 3 replicas on 127.0.0.1:7000-7005
# make test  passes the checks and the tests
export CGO_ENABLED ?= 0
# The profile that covey is built by is for the binary alone: with it tests and checks would compile every package twice.
export GOFLAGS ?= -pgo=off
T ?= 20s
SEEDS ?= 200
STEPS ?= 100000
BIN := bin/covey

.PHONY: build profile up setup check test race fuzz bench compat clients sim soak clean

build:
	go build -pgo=auto -trimpath -ldflags="-s -w" -o $(BIN) ./cmd/covey

# Where a node spends its time is measured anew: cmd/covey/default.pgo, which the compiler builds covey by.
profile: setup
	scripts/profile.sh

up: build
	$(BIN) up

setup:
	@scripts/setup.sh

check:
	@test -z "$$(gofmt -l cmd internal tests)" || { echo "gofmt -w these:"; gofmt -l cmd internal tests; exit 1; }
	go vet ./...
	GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/covey
	go mod tidy -diff
	go run -modfile=tools/go.mod honnef.co/go/tools/cmd/staticcheck ./...

test: setup build check
	COVEY_BIN=$(CURDIR)/$(BIN) go test -tags invariants -timeout 14m $$(go list ./internal/... ./cmd/... | grep -v internal/sim)
	go test -timeout 14m ./internal/sim
	COVEY_BIN=$(CURDIR)/$(BIN) go test -timeout 14m ./tests/...

race: setup
	CGO_ENABLED=1 go test -race -timeout 30m ./internal/...

# Every fuzz target for T each.
fuzz:
	@for file in $$(grep -rl --include='*_test.go' '^func Fuzz' internal); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$file); do \
			echo "$$target in $$(dirname $$file)"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(T) ./$$(dirname $$file) || exit 1; \
		done; done

sim: build
	$(BIN) sim --swarm $(SEEDS)

bench: setup build
	go run ./tests/bench

# The differential test in its long form: STEPS random commands of every family beside redis-server.
compat: setup build
	COVEY_BIN=$(CURDIR)/$(BIN) COVEY_COMPAT_STEPS=$(STEPS) go test -timeout 60m -v ./tests/compat

# The client libraries of all languages, those of Node too, against one node and a cluster.
clients: build
	@scripts/setup.sh --all
	COVEY_BIN=$(CURDIR)/$(BIN) COVEY_CLIENTS=all go test -timeout 10m -v ./tests/clients

# The long form of the tests under load: a million keys, ten kills in a row, ten times a thousand slots moved, storms of five
# minutes. It takes half an hour on two processors, and twice that when they have other work.
soak: setup build
	COVEY_BIN=$(CURDIR)/$(BIN) COVEY_KEYS=1000000 COVEY_ROUNDS=10 COVEY_SLOTS=1000 COVEY_STORM=300 go test -timeout 3h -v -run 'UnderLoad|TestStorm' ./tests

clean:
	rm -rf bin
