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
	primary.Want(t, ":1", "WAIT", "1", "5000")
	replica.Want(t, "+OK", "CLIENT", "PAUSE", "60000", "WRITE")
	offset := top.Nodes[1].InfoInt(t, "slave_repl_offset")
	primary.Want(t, "+OK", "SET", "k", "after")
	primary.Want(t, "+OK", "MULTI")
	primary.Want(t, "+QUEUED", "INCR", "n")
	primary.Want(t, "+QUEUED", "INCR", "n")
	primary.Want(t, "[:1 :2]", "EXEC")
	primary.Want(t, ":0", "WAIT", "1", "200")
	replica.Want(t, `"before"`, "GET", "k")
	if read := top.Nodes[1].InfoInt(t, "slave_read_repl_offset"); read <= offset {
		t.Errorf("the stream was read up to %d", read)
	}
	if now := top.Nodes[1].InfoInt(t, "slave_repl_offset"); now != offset {
		t.Errorf("the offset is %d, was %d", now, offset)
	}
	if link := top.Nodes[1].Info(t)["master_link_status"]; link != "up" {
		t.Errorf("the link is %s", link)
	}
	replica.Want(t, "+OK", "CLIENT", "UNPAUSE")
	primary.Want(t, ":1", "WAIT", "1", "5000")
	replica.Want(t, `"after"`, "GET", "k")
	replica.Want(t, `"2"`, "GET", "n")
	sameData(t, primary, replica)

	replica.Want(t, "+OK", "CLIENT", "PAUSE", "300", "ALL")
	primary.Want(t, "+OK", "SET", "k", "last")
	primary.Want(t, ":1", "WAIT", "1", "5000") // the pause ends by itself
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
	testkit.Eventually(t, 10*time.Second, func() error {
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
	start := time.Now()
	must(t, sleeper.Send("DEBUG", "SLEEP", "0.5"))
	testkit.Elapse(100 * time.Millisecond) // it sleeps now
	other.Want(t, "+PONG", "PING")
	if took := time.Since(start); took < 450*time.Millisecond {
		t.Errorf("a sleeping node answered after %v", took)
	}
	if v := sleeper.Next(t); v.String() != "+OK" {
		t.Error(v)
	}
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
	eventuallyReply(t, replicaWithin, replica, ":1", "DBSIZE")
	replica.Want(t, "+OK", "SAVE")
	replica.Stop(t)
	testkit.Elapse(400 * time.Millisecond) // the key is due
	replica.Restart(t)
	replica.Want(t, ":1", "DBSIZE")
	primary.Want(t, "+OK", "DEBUG", "SET-ACTIVE-EXPIRE", "1")
	eventuallyReply(t, replicaWithin, replica, ":0", "DBSIZE")
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
	c.Want(t, "+QUEUED", "MIGRATE", "127.0.0.1", port, "", "0", "5000", "KEYS", "a", "b", "nosuch")
	c.Want(t, "+QUEUED", "EXISTS", "a", "b", "c")
	c.Want(t, "+QUEUED", "MIGRATE", "127.0.0.1", port, "c", "0", "5000", "COPY")
	c.Want(t, "[+OK :1 +OK]", "EXEC")
	target.Want(t, `["of a" "of b" "of c"]`, "MGET", "a", "b", "c")
	source.Want(t, "[nil nil \"of c\"]", "MGET", "a", "b", "c")
	if n := source.InfoInt(t, "migrate_cached_sockets"); n != 1 {
		t.Errorf("%d sockets are kept", n)
	}
	c.Want(t, "-ERR Target instance replied with error: BUSYKEY...", "MIGRATE", "127.0.0.1", port, "c", "0", "5000")
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
	testkit.Eventually(t, replicaWithin, links)
	created := node.Do(t, "CLUSTER", "LINKS").String()
	node.Want(t, "-ERR Unknown node x", "DEBUG", "CLUSTERLINK", "KILL", "ALL", "x")
	node.Want(t, "-ERR Unknown direction x", "DEBUG", "CLUSTERLINK", "KILL", "x", id)
	node.Want(t, "+OK", "DEBUG", "CLUSTERLINK", "KILL", "ALL", id)
	testkit.Eventually(t, replicaWithin, func() error {
		if node.Do(t, "CLUSTER", "LINKS").String() == created {
			return errors.New("the links are still the old ones")
		}
		return links()
	})
	node.Want(t, "+OK", "DEBUG", "DROP-CLUSTER-PACKET-FILTER", "1") // PONG
	node.AwaitLog(t, replicaWithin, "Packet that matches debug drop filter")
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
	s.AwaitLog(t, replicaWithin, "crashed by signal: 11")
	s.AwaitLog(t, replicaWithin, "STACK TRACE")
	s.AwaitExit(t, replicaWithin)
}

// A replica that sleeps does not come back to its primary meanwhile.
func TestSleepingReplicaStaysAway(t *testing.T) {
	primary := testkit.Start(t, testkit.Options{})
	replica := testkit.Start(t, testkit.Options{Conf: []string{"enable-debug-command yes"}})
	replica.Follow(t, primary)
	testkit.Eventually(t, replicaWithin, func() error { return replica.ReplicaLinked(primary.Port) })
	c := replica.Dial(t)
	c.Want(t, "+OK", "MULTI")
	c.Want(t, "+QUEUED", "CLIENT", "KILL", "TYPE", "master")
	c.Want(t, "+QUEUED", "DEBUG", "SLEEP", "1")
	must(t, c.Send("EXEC"))
	testkit.Elapse(600 * time.Millisecond) // longer than it takes to come back
	if n := primary.InfoInt(t, "connected_slaves"); n != 0 {
		t.Errorf("%d replicas are there", n)
	}
	if v := c.Next(t); v.String() != "[:1 +OK]" {
		t.Error(v)
	}
	testkit.Eventually(t, replicaWithin, func() error { return replica.ReplicaLinked(primary.Port) })
}
