#!/usr/bin/env bash
# Measures where a node spends its time under the loads of redis-benchmark, and keeps the profile that the compiler builds
# covey by (cmd/covey/default.pgo).
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'kill "${node:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
port=${PORT:-17379}
requests=${REQUESTS:-1000000}
CGO_ENABLED=0 go build -pgo=off -trimpath -tags profile -o "$work/covey" ./cmd/covey
# load runs one node under the words of redis-benchmark that follow the name of the profile.
load() {
	local name=$1
	shift
	COVEY_PROFILE=$work/$name.pprof "$work/covey" server --port "$port" --bind 127.0.0.1 --dir "$work" --save '' --logfile "$work/log" &
	node=$!
	until redis-cli -p "$port" ping >/dev/null 2>&1; do sleep 0.05; done
	"$@"
	redis-cli -p "$port" shutdown nosave
	wait "$node" || true
}
bench() { redis-benchmark -p "$port" -c 50 -r 100000 -d 32 -q "$@" >"$work/out"; }
strings() { for p in 1 16 100; do bench -P "$p" -n "$((p == 1 ? requests / 2 : requests * 2))" -t set,get; done; }
types() { for p in 1 16; do bench -P "$p" -n "$((requests / 4))" -t incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,mset; done; }
ranges() { bench -P 16 -n "$((requests / 20))" -t lrange; }
sessions() { bench -P 16 -n "$((requests / 4))" eval 'return redis.call("get", KEYS[1])' 1 key:__rand_int__; }
for name in strings types ranges sessions; do load "$name" "$name"; done
go tool pprof -proto "$work"/*.pprof >cmd/covey/default.pgo 2>/dev/null
ls -l cmd/covey/default.pgo
