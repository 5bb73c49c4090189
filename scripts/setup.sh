#!/usr/bin/env bash
# Installs what the tests want beside Go: the real Redis and its tools. Does nothing where they are there; where they
# cannot be installed, the tests that need them are skipped with a notice (and fail in CI).
set -euo pipefail
missing=()
for program in redis-server redis-cli redis-benchmark redis-check-rdb; do
	command -v "$program" >/dev/null || missing+=("$program")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing redis-server and redis-tools (missing: ${missing[*]})"
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y --no-install-recommends redis-server redis-tools >/dev/null 2>&1 ||
		{ apt-get update >/dev/null && apt-get install -y --no-install-recommends redis-server redis-tools >/dev/null; }
	exit 0
fi
echo "NOTICE: ${missing[*]} not found and not installable here: tests against the real Redis are skipped" >&2
