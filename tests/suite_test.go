package tests

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

// This file holds what the test suite of Redis asks of a whole node and no other test here did.

// CLIENT PAUSE on a replica holds the stream of its primary, and what was held is applied afterwards.
func TestPauseHoldsTheStreamOfAReplica(t *testing.T) {
	top, primary, replica := startR2(t)
	primary.Want(t, "+OK", "SET", "k", "before")
	primary.Want(t, ":1", "WAIT", "1", "30000")
	replica.Want(t, "+OK", "CLIENT", "PAUSE", "60000", "WRITE")
	offset := top.Nodes[1].InfoInt(t, "slave_repl_offset")
	primary.Want(t, "+OK", "SET", "k", "after")
	primary.Want(t, "+OK", "MULTI")
	primary.Want(t, "+QUEUED", "INCR", "n")
	primary.Want(t, "+QUEUED", "INCR", "n")
	primary.Want(t, "[:1 :2]", "EXEC")
	primary.Want(t, ":0", "WAIT", "1", "200")
	replica.Want(t, `"before"`, "GET", "k")
	testkit.Eventually(t, testkit.Patience, func() error {
		if read := top.Nodes[1].InfoInt(t, "slave_read_repl_offset"); read <= offset {
			return fmt.Errorf("the stream was read up to %d, it was held at %d", read, offset)
		}
		return nil
	})
	if now := top.Nodes[1].InfoInt(t, "slave_repl_offset"); now != offset {
		t.Errorf("the offset is %d, was %d", now, offset)
	}
	if link := top.Nodes[1].Info(t)["master_link_status"]; link != "up" {
		t.Errorf("the link is %s", link)
	}
	replica.Want(t, "+OK", "CLIENT", "UNPAUSE")
	primary.Want(t, ":1", "WAIT", "1", "30000")
	replica.Want(t, `"after"`, "GET", "k")
	replica.Want(t, `"2"`, "GET", "n")
	sameData(t, primary, replica)

	replica.Want(t, "+OK", "CLIENT", "PAUSE", "300", "ALL")
	primary.Want(t, "+OK", "SET", "k", "last")
	primary.Want(t, ":1", "WAIT", "1", "30000") // the pause ends by itself
}

func TestConfigRewriteForceAll(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Conf: []string{"enable-debug-command yes", "maxmemory 18446744073709551615", "client-query-buffer-limit 2gb"}})
	before := s.Do(t, "CONFIG", "GET", "*").String()
	s.Want(t, "+OK", "DEBUG", "CONFIG-REWRITE-FORCE-ALL")
	s.Stop(t)
	s.Restart(t)
	if after := s.Do(t, "CONFIG", "GET", "*").String(); after != before {
		t.Errorf("after\n%s\nbefore\n%s", after, before)
	}
}

// What the event loops have done is counted: as good as nothing while nobody asks for anything.
func TestEventLoopsAreMeasured(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	s.Want(t, "+OK", "SET", "k", "v")
	testkit.Eventually(t, testkit.Patience, func() error {
		if n := s.InfoInt(t, "instantaneous_eventloop_cycles_per_sec"); n < 1 {
			return errors.New("no rounds are seen")
		}
		return nil
	})
	cycles, sum, inCommands := s.InfoInt(t, "eventloop_cycles"), s.InfoInt(t, "eventloop_duration_sum"), s.InfoInt(t, "eventloop_duration_cmd_sum")
	s.Want(t, "+PONG", "PING")
	if now := s.InfoInt(t, "eventloop_cycles"); now <= cycles || cycles == 0 {
		t.Errorf("%d rounds, were %d", now, cycles)
	}
	if now := s.InfoInt(t, "eventloop_duration_sum"); now <= sum || sum <= inCommands || inCommands == 0 {
		t.Errorf("rounds took %d us, had taken %d, commands %d", now, sum, inCommands)
	}
	for _, section := range []string{"default", "all", "everything"} {
		if strings.Contains(s.Do(t, "INFO", section).Plain(), "eventloop_duration_cron_sum") {
			t.Errorf("INFO %s tells what is for debugging", section)
		}
	}
	debug := s.Do(t, "INFO", "debug").Plain()
	for _, field := range []string{"eventloop_duration_cron_sum", "eventloop_duration_max", "eventloop_cmd_per_cycle_max"} {
		if !strings.Contains(debug, field+":") || strings.Contains(debug, field+":0\r") {
			t.Errorf("%s is missing in %s", field, fmt.Sprint(debug))
		}
	}
}

// DEBUG SLEEP stops the whole node: nobody is served, and a cluster takes the node for dead.
func TestDebugSleepStopsTheNode(t *testing.T) {
	s := startWholeNode(t, "enable-debug-command yes")
	sleeper, other := s.Dial(t), s.Dial(t)
	last := nodeTime(t, other)
	slept := make(chan error, 1)
	go func() {
		v, err := sleeper.Try("DEBUG", "SLEEP", "0.5")
		if err == nil && v.String() != "+OK" {
			err = fmt.Errorf("DEBUG SLEEP: %v", v)
		}
		slept <- err
	}()
	longest := time.Duration(0) // by the clock of the node, between two commands of somebody else
	for asleep := true; asleep; {
		select {
		case err := <-slept:
			must(t, err)
			asleep = false
		default:
		}
		now := nodeTime(t, other)
		longest, last = max(longest, now.Sub(last)), now
	}
	if longest < 450*time.Millisecond {
		t.Errorf("a node that slept for 500 ms was at work again after %v", longest)
	}
}

// nodeTime asks a node for its time.
func nodeTime(t testing.TB, c *testkit.Client) time.Time {
	t.Helper()
	parts := c.OK(t, "TIME").Strings()
	seconds, err := strconv.ParseInt(parts[0], 10, 64)
	must(t, err)
	micros, err := strconv.ParseInt(parts[1], 10, 64)
	must(t, err)
	return time.Unix(seconds, micros*1000)
}

// A command that is redirected is refused and not called.
func TestRedirectedCommandsAreNoCalls(t *testing.T) {
	top := testkit.StartCluster(t, testkit.ClusterOptions{Primaries: 3})
	node := top.Nodes[0]
	node.Want(t, "+OK", "CONFIG", "RESETSTAT")
	node.Want(t, "-MOVED 12182...", "SET", keyOfNode2, "v")
	stats := node.Do(t, "INFO", "commandstats").Plain()
	if !strings.Contains(stats, "cmdstat_set:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0") {
		t.Error(stats)
	}
}

// A replica that restarts keeps what is due until its primary says so, in a cluster too.
func TestClusterReplicaKeepsExpiredKeysAtItsStart(t *testing.T) {
	top := testkit.StartCluster(t, testkit.ClusterOptions{Primaries: 1, Replicas: []int{0}, Conf: []string{"enable-debug-command yes"}})
	primary, replica := top.Nodes[0], top.Nodes[1]
	primary.Want(t, "+OK", "DEBUG", "SET-ACTIVE-EXPIRE", "0")
	primary.Want(t, "+OK", "SET", "k", "v", "PX", "300")
	eventuallyReply(t, testkit.Patience, replica, ":1", "DBSIZE")
	replica.Want(t, "+OK", "SAVE")
	replica.Stop(t)
	testkit.Elapse(400 * time.Millisecond) // the key is due
	replica.Restart(t)
	replica.Want(t, ":1", "DBSIZE")
	primary.Want(t, "+OK", "DEBUG", "SET-ACTIVE-EXPIRE", "1")
	eventuallyReply(t, testkit.Patience, replica, ":0", "DBSIZE")
}

// MIGRATE keeps its connection for the next one, and can be part of a transaction.
func TestMigrateInATransaction(t *testing.T) {
	source, target := testkit.Start(t, testkit.Options{}), testkit.Start(t, testkit.Options{})
	port := strconv.Itoa(target.Port)
	c := source.Dial(t)
	for _, key := range []string{"a", "b", "c"} {
		c.Want(t, "+OK", "SET", key, "of "+key)
	}
	if n := source.InfoInt(t, "migrate_cached_sockets"); n != 0 {
		t.Errorf("%d sockets are kept at first", n)
	}
	c.Want(t, "+OK", "MULTI")
	c.Want(t, "+QUEUED", "MIGRATE", "127.0.0.1", port, "", "0", "30000", "KEYS", "a", "b", "nosuch")
	c.Want(t, "+QUEUED", "EXISTS", "a", "b", "c")
	c.Want(t, "+QUEUED", "MIGRATE", "127.0.0.1", port, "c", "0", "30000", "COPY")
	c.Want(t, "[+OK :1 +OK]", "EXEC")
	target.Want(t, `["of a" "of b" "of c"]`, "MGET", "a", "b", "c")
	source.Want(t, "[nil nil \"of c\"]", "MGET", "a", "b", "c")
	if n := source.InfoInt(t, "migrate_cached_sockets"); n != 1 {
		t.Errorf("%d sockets are kept", n)
	}
	c.Want(t, "-ERR Target instance replied with error: BUSYKEY...", "MIGRATE", "127.0.0.1", port, "c", "0", "30000")
}

// Tests of clusters break links and drop packets with DEBUG.
func TestDebugOfTheClusterBus(t *testing.T) {
	top := testkit.StartCluster(t, testkit.ClusterOptions{Primaries: 2, Conf: []string{"enable-debug-command yes", "loglevel verbose"}})
	node, id := top.Nodes[0], top.Nodes[1].Do(t, "CLUSTER", "MYID").Plain()
	links := func() error {
		if n := len(node.Do(t, "CLUSTER", "LINKS").Items); n != 2 {
			return fmt.Errorf("%d links", n)
		}
		return nil
	}
	testkit.Eventually(t, testkit.Patience, links)
	created := node.Do(t, "CLUSTER", "LINKS").String()
	node.Want(t, "-ERR Unknown node x", "DEBUG", "CLUSTERLINK", "KILL", "ALL", "x")
	node.Want(t, "-ERR Unknown direction x", "DEBUG", "CLUSTERLINK", "KILL", "x", id)
	node.Want(t, "+OK", "DEBUG", "CLUSTERLINK", "KILL", "ALL", id)
	testkit.Eventually(t, testkit.Patience, func() error {
		if node.Do(t, "CLUSTER", "LINKS").String() == created {
			return errors.New("the links are still the old ones")
		}
		return links()
	})
	node.Want(t, "+OK", "DEBUG", "DROP-CLUSTER-PACKET-FILTER", "1") // PONG
	node.AwaitLog(t, testkit.Patience, "Packet that matches debug drop filter")
	node.Want(t, "+OK", "DEBUG", "DROP-CLUSTER-PACKET-FILTER", "-1")
}

// A reply that is sure to be longer than the output limit is not begun.
func TestEndlessReplyIsNotBegun(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Conf: []string{"client-output-buffer-limit normal 1000000 0 0"}})
	s.Want(t, ":1", "HSET", "h", "a", "b")
	c := s.Dial(t)
	must(t, c.Send("HRANDFIELD", "h", "-999999999"))
	if b, err := c.ReadBytes(1); err == nil {
		t.Errorf("read %q", b)
	}
	s.Want(t, "+PONG", "PING")
}

// A signal that ends a broken process is logged, with what the node was doing.
func TestCrashIsReported(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Conf: []string{"enable-debug-command yes"}})
	_, _ = s.Dial(t).Try("DEBUG", "SEGFAULT")
	s.AwaitLog(t, testkit.Patience, "crashed by signal: 11")
	s.AwaitLog(t, testkit.Patience, "STACK TRACE")
	s.AwaitExit(t, testkit.Patience)
}

// A replica that sleeps does not come back to its primary meanwhile.
func TestSleepingReplicaStaysAway(t *testing.T) {
	primary := testkit.Start(t, testkit.Options{})
	replica := testkit.Start(t, testkit.Options{Conf: []string{"enable-debug-command yes"}})
	replica.Follow(t, primary)
	testkit.Eventually(t, testkit.Patience, func() error { return replica.ReplicaLinked(primary.Port) })
	c := replica.Dial(t)
	c.Want(t, "+OK", "MULTI")
	c.Want(t, "+QUEUED", "CLIENT", "KILL", "TYPE", "master")
	c.Want(t, "+QUEUED", "DEBUG", "SLEEP", "1")
	start := time.Now()
	must(t, c.Send("EXEC"))
	testkit.Eventually(t, testkit.Patience, func() error {
		if primary.InfoInt(t, "sync_partial_ok") == 0 {
			return errors.New("the replica has not come back")
		}
		return nil
	})
	if took := time.Since(start); took < time.Second {
		t.Errorf("the replica came back after %v", took)
	}
	if v := c.Next(t); v.String() != "[:1 +OK]" {
		t.Error(v)
	}
}
