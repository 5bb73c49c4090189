#!/usr/bin/env bash
# Installs what the tests want beside Go: the real Redis and its tools, Python's client library, the Prometheus exporter; with
# --all also Node and its client libraries. Does nothing where they are there; where they cannot be installed, the tests that need them are skipped with a
# notice (and fail in CI).
set -euo pipefail
cd "$(dirname "$0")/.."

packages=()
want() { # want PACKAGE COMMAND...: the package is needed if the command fails
	local package=$1
	shift
	"$@" >/dev/null 2>&1 || packages+=("$package")
}
want redis-server command -v redis-server
want redis-tools command -v redis-cli
want redis-tools command -v redis-benchmark
want redis-tools command -v redis-check-rdb
want python3-redis /usr/bin/python3 -c 'import redis'
if [ "${1-}" = --all ]; then
	want nodejs command -v node
	want npm command -v npm
fi
want prometheus-redis-exporter command -v prometheus-redis-exporter

if [ ${#packages[@]} -gt 0 ]; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		echo "installing ${packages[*]}"
		export DEBIAN_FRONTEND=noninteractive
		install() { apt-get install -y --no-install-recommends "${packages[@]}" >/dev/null 2>&1; }
		one() { # each by itself, so that one that cannot be had keeps away no other
			local package failed=0
			for package in "${packages[@]}"; do
				apt-get install -y --no-install-recommends "$package" >/dev/null 2>&1 || failed=1
			done
			return $failed
		}
		install || { apt-get update >/dev/null && install; } || one ||
			echo "NOTICE: ${packages[*]} cannot be installed: tests that need them are skipped" >&2
	else
		echo "NOTICE: ${packages[*]} not found and not installable here: tests that need them are skipped" >&2
	fi
fi

# The JavaScript clients: what the lock file says, again when it has changed.
clients=tests/clients
installed=$clients/node_modules/installed-lock.json
if [ "${1-}" = --all ] && command -v npm >/dev/null && ! cmp -s $clients/package-lock.json $installed; then
	echo "installing the packages of $clients/package.json"
	if npm ci --prefix $clients --omit=optional --ignore-scripts --no-audit --no-fund >/dev/null 2>&1; then
		cp $clients/package-lock.json $installed
	else
		echo "NOTICE: the npm packages cannot be installed: tests of the JavaScript clients are skipped" >&2
	fi
fi
