package bus

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file puts what the core reports into the words operators and their tools know. $n is the node, $e the epoch, $v the
// value; $m is the node and $b the one that told of it, both with their names.

// phrase gives the words for a report; one that has no other words is told as it is.
func phrase(text string) string {
	switch text {
	case "own address learned":
		return "IP address for this node updated"
	case "address of node has changed":
		return "Address updated for node $n"
	case "taking over by command, without a vote":
		return "Taking over the master (user request)."
	case "failover ordered by command":
		return "Manual failover user request accepted."
	case "node reset":
		return "Node reset, now I'm $n"
	case "last slot given away: following the new owner", "last slot lost: following the new owner":
		return "Configuration change detected. Reconfiguring myself as a replica of $n"
	case "primary has become a replica: following its primary":
		return "I'm a sub-replica! Reconfiguring myself as a replica of grandmaster $n"
	case "election planned, rank":
		return "Start of election delayed (rank #$v)."
	case "election put off: better replicas, rank":
		return "Replica rank updated to #$v"
	case "asking for votes":
		return "Starting a failover election for epoch $e."
	case "election won":
		return "Failover election won: I'm the new master."
	case "configuration epoch set":
		return "configEpoch set to $e"
	case "epoch collides with that of another primary":
		return "WARNING: configEpoch collision with node $n. configEpoch set to $e"
	case reportOfFailure:
		return "Node $b reported node $m as not reachable."
	case "node does not answer":
		return "*** NODE $n possibly failing"
	case "node has failed: a majority does not reach it":
		return "Marking node $n as failing (quorum reached)."
	case "node has failed: told by another node":
		return "FAIL message received about $n"
	case "failed node is reachable again":
		return "Clear FAIL state for node $n: is reachable again."
	case "handshake complete":
		return "Handshake with node $n completed."
	case "replica is ordered to take over: pausing writes":
		return "Manual failover requested by replica $n."
	case "primary has paused at offset":
		return "Received replication offset for paused master manual failover: $v"
	case "all writes of the primary applied: failover can start":
		return "All master replication stream processed, manual failover can start."
	case "failover by command timed out":
		return "Manual failover timed out."
	case "migrating to a primary without replicas":
		return "Migrating to orphaned master $n"
	case "keys in a slot without owner: taking the slot":
		return "I have keys for unassigned slot $v. Taking responsibility for it."
	case "keys in a slot of another node: marking it as importing":
		return "I have keys for slot $v, but the slot is assigned to another node. Setting it to importing state."
	case "cluster state is ok":
		return "Cluster state changed: ok"
	case "cluster state is fail":
		return "Cluster state changed: fail"
	case "vote granted":
		return "Failover auth granted to $n for epoch $e"
	}
	return text
}

// reportOfFailure is what the core says when a primary calls another node failing.
const reportOfFailure = "a primary does not reach the node"

// levelVerbose is the level of loglevel verbose.
const levelVerbose = slog.LevelDebug + 2

// named is a node's id with its human name.
func (b *Bus) named(id wire.NodeID) string {
	for _, n := range b.View().Nodes {
		if n.ID == id {
			return id.String() + " (" + n.Name + ")"
		}
	}
	return id.String() + " ()"
}

// journal writes one line.
func (b *Bus) journal(l core.Log) {
	level := slog.LevelInfo
	switch l.Level {
	case core.Debug:
		level = slog.LevelDebug
	case core.Warn:
		level = slog.LevelWarn
	case core.Error:
		level = slog.LevelError
	}
	if l.Text == reportOfFailure {
		level = levelVerbose
	}
	text := phrase(l.Text)
	if text == l.Text && !l.Node.IsZero() {
		b.log.Log(context.Background(), level, text, "node", l.Node.String(), "epoch", uint64(l.Epoch), "value", l.Value)
		return
	}
	words := strings.NewReplacer("$n", l.Node.String(), "$m", b.named(l.Node), "$b", b.named(l.By),
		"$e", strconv.FormatUint(uint64(l.Epoch), 10), "$v", strconv.FormatInt(l.Value, 10))
	b.log.Log(context.Background(), level, words.Replace(text))
}
