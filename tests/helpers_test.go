package tests

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// The keys of the cases and where a cluster of three primaries has them.
const (
	keyOfNode0, slotOfBar = "bar", 5061
	keyOfNode2, slotOfFoo = "foo", 12182
	tagA, slotOfA         = "{a}", 15495
	lastSlot              = slot.Count - 1
)

// startNode starts one node in cluster mode that is not yet in a cluster.
func startNode(t testing.TB, conf ...string) *testkit.Server {
	t.Helper()
	return testkit.Start(t, testkit.Options{Conf: append(testkit.ClusterConf(), conf...)})
}

// startWholeNode starts a cluster of one node with all slots.
func startWholeNode(t testing.TB, conf ...string) *testkit.Server {
	t.Helper()
	return testkit.StartCluster(t, testkit.ClusterOptions{Primaries: 1, Conf: conf}).Nodes[0]
}

// eventuallyReply waits until a command is answered as the pattern says.
func eventuallyReply(t testing.TB, within time.Duration, s *testkit.Server, pattern string, args ...string) {
	t.Helper()
	p := reply.MustParse(pattern)
	testkit.Eventually(t, within, func() error {
		v, err := s.Try(args...)
		if err == nil && !p.Matches(v) {
			err = fmt.Errorf("%s: %q: got %v, want %s", s, args, v, pattern)
		}
		return err
	})
}

// steadily checks again and again that something holds for a while.
func steadily(t testing.TB, during time.Duration, check func() error) {
	t.Helper()
	end := time.Now().Add(during)
	for time.Now().Before(end) {
		if err := check(); err != nil {
			t.Fatal(err)
		}
		testkit.Elapse(50 * time.Millisecond) // the time between two looks
	}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dialNode is Dial for a node of a topology that may be of any kind.
func dialNode(t testing.TB, top *testkit.Topology, node int) *testkit.Client {
	t.Helper()
	return top.Nodes[node].Dial(t)
}

// redisCLI runs redis-cli and returns what it prints; a status that is not 0 ends the test.
func redisCLI(t testing.TB, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*testkit.Patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, testkit.Need(t, "redis-cli"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// reshape runs redis-cli --cluster when the nodes agree: it refuses to move slots before.
func reshape(t testing.TB, top *testkit.Topology, args ...string) string {
	t.Helper()
	testkit.Eventually(t, testkit.Patience, top.Whole)
	return redisCLI(t, append([]string{"--cluster"}, args...)...)
}

// keysInSlot makes n keys of the slot that a tag has: {a}0, {a}1, ...
func keysInSlot(tag string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = tag + strconv.Itoa(i)
	}
	return keys
}

// keysOf makes n keys whose slots lie between first and last.
func keysOf(first, last, n int) []string {
	var keys []string
	for i := 0; len(keys) < n; i++ {
		key := "key:" + strconv.Itoa(i)
		if s := int(slot.Of([]byte(key))); first <= s && s <= last {
			keys = append(keys, key)
		}
	}
	return keys
}

var errStillThere = errors.New("still there")
