// Package testkit holds what the integration tests share: the binaries, servers as processes on free loopback ports, a raw
// client, ready-made topologies, and waiting for something instead of sleeping. Tests only.
package testkit

import (
	"fmt"
	"os/exec"
	"testing"
	"time"
)

// Patience is how long a test waits for what usually comes at once: a reply, the start of a server, agreement of a cluster.
// The wait ends with the event, so that only a test that fails is the slower for it; a machine that is busy with other
// things must not be what makes it fail.
const Patience = time.Minute

const pollEvery = 10 * time.Millisecond // short against every time-out of a test, long enough not to load the machine

// Eventually calls check again and again until it returns nil; the test ends here if that takes too long.
func Eventually(t testing.TB, within time.Duration, check func() error) {
	t.Helper()
	if err := Poll(within, check); err != nil {
		t.Fatalf("not within %v: %v", within, err)
	}
}

// Poll calls check again and again until it returns nil, and returns its last error after the given time.
func Poll(within time.Duration, check func() error) error {
	end := time.NewTimer(within)
	defer end.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-end.C:
			return err
		case <-tick.C:
		}
	}
}

// Elapse waits for the given time, for the few cases where time itself is what is tested (an expiry, a pause).
func Elapse(d time.Duration) { <-time.After(d) }

// Need looks for a program that a test cannot do without. Without it the test is skipped, and fails where CI=true.
func Need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	Missing(t, fmt.Sprintf("%s is not installed", program))
	return ""
}

// Missing skips the test, visibly, or fails it where everything must be there.
func Missing(t testing.TB, what string) {
	t.Helper()
	if inCI() {
		t.Fatal(what)
	}
	t.Skip("SKIPPED: " + what)
}
