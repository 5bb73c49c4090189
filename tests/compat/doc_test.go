// Package compat compares a server under test with a real redis-server: random commands go to both, every reply must be the
// same in RESP2 and RESP3, and so must be the data that they leave: digest, names, expiries, encodings. A redis-server that
// replicates the server under test must have the same data, too.
//
// A family (family_*_test.go) is a table of command templates (template_test.go) whose arguments are drawn with a liking
// for the edges (draw_test.go). How replies are compared is in compare_test.go, what Redis changed between the version
// that is installed and 7.2 in versions_test.go.
//
//	go test ./tests/compat                                all families, 1,500 commands each
//	go test ./tests/compat -run 'TestFamilies/hashes$'    one of them
//	make compat                                           100,000 commands each
//
//	COVEY_COMPAT_STEPS=1500   commands a family
//	COVEY_COMPAT_REDIS=path   compare with that redis-server
//	COVEY_COMPAT_REDIS8=path  and hashes whose fields expire with that one, of version 8.0; skipped without it
//	SUT=redis-server          compare redis-server with itself: what fails then is a mistake of the test
//
// A family that fails prints the shortest sequence of commands that was found to fail, and how to run it again.
package compat
