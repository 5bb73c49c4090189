// Package tests holds the tests that talk to whole servers over their sockets: the acceptance cases (cases/*.txt, and those
// that need Go in own_*_test.go) and the integration tests of the foundation.
//
// The server under test is covey, built from this tree. SUT=redis-server, or SUT=<path>, runs the same tests against
// another server. What a server is known to fail is listed in cases/pending.txt (covey) or
// cases/redis-<version>-differs.txt, and must fail: whoever mends it takes it off the list.
//
//	COVEY_BIN=<path>    take that binary instead of building one
//	COVEY_RACE=1        build with the race detector
//	COVEY_KEYS=20000    keys of the load tests
//	COVEY_ROUNDS=1      rounds of the failure tests
//	COVEY_SLOTS=200     slots that a round of the reshard test moves
//	COVEY_STORM=4       seconds that a storm lasts
//	COVEY_SEED=<n>      what the storms draw from; where CI=true they draw the same in each run
package tests
