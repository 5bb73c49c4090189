// Package clients runs the client libraries that people use against one node and against a cluster of three primaries and
// three replicas, in the clear and over TLS, and the tools that surround a Redis: redis-cli, redis-benchmark, the Sentinel
// and the Prometheus exporter.
//
// The libraries of Go are test dependencies. Those of other languages are scripts in testdata; scripts/setup.sh installs
// what Python needs, and with --all what Node needs: make clients runs those too. SUT=redis-server runs everything against the real Redis.
package clients
