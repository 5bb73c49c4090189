package testkit

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// AuthPassword is the password of the topology "auth".
const AuthPassword = "secret"

// StartTopology starts one of the ready-made topologies:
//
//	single  one node
//	auth    one node with a password
//	R2      a primary and its replica
//	C1      one cluster node with all slots
//	C3      three primaries: 0-5460, 5461-10922, 10923-16383; node timeout 15 s
//	C3+2    C3 and two replicas of node 0 (nodes 3 and 4), which stay with its slots
//	C6      C3 and one replica each (nodes 3 to 5)
func StartTopology(t testing.TB, name string) *Topology {
	t.Helper()
	top := startTopology(t, name)
	top.Name = name
	return top
}

func startTopology(t testing.TB, name string) *Topology {
	t.Helper()
	switch name {
	case "single":
		return &Topology{Nodes: []*Server{Start(t, Options{})}}
	case "auth":
		return &Topology{Nodes: []*Server{Start(t, Options{Password: AuthPassword})}}
	case "R2":
		return StartPair(t)
	case "C1":
		return StartCluster(t, ClusterOptions{Primaries: 1})
	case "C3":
		return StartCluster(t, ClusterOptions{Primaries: 3})
	case "C3+2":
		// A replica may move to a primary that has none once the cluster is well for five seconds.
		stay := []string{"cluster-allow-replica-migration no"}
		return StartCluster(t, ClusterOptions{Primaries: 3, Replicas: []int{0, 0}, Conf: stay})
	case "C6":
		return StartCluster(t, ClusterOptions{Primaries: 3, Replicas: []int{0, 1, 2}})
	}
	t.Fatalf("unknown topology %q", name)
	return nil
}

// StartPair starts a primary and its replica, with further lines for both.
func StartPair(t testing.TB, conf ...string) *Topology {
	t.Helper()
	primary, replica := Launch(t, Options{Conf: conf}), Launch(t, Options{Conf: conf})
	primary.AwaitReady(t)
	replica.AwaitReady(t)
	replica.Follow(t, primary)
	return &Topology{Nodes: []*Server{primary, replica}}
}

// Follow makes the server a replica of another, outside cluster mode, and waits for the link.
func (s *Server) Follow(t testing.TB, primary *Server) {
	t.Helper()
	s.Want(t, "+OK", "REPLICAOF", "127.0.0.1", strconv.Itoa(primary.Port))
	Eventually(t, Patience, func() error {
		if err := s.ReplicaLinked(primary.Port); err != nil {
			return err
		}
		return primary.HasReplica(s.Port)
	})
}

// HasReplica returns nil if the server counts the replica at that port as online.
func (s *Server) HasReplica(port int) error {
	info, err := s.TryInfo("replication")
	if err != nil {
		return err
	}
	for i := 0; info[fmt.Sprintf("slave%d", i)] != ""; i++ {
		line := info[fmt.Sprintf("slave%d", i)]
		if strings.Contains(line, fmt.Sprintf("port=%d,", port)) && strings.Contains(line, "state=online") {
			return nil
		}
	}
	return fmt.Errorf("%s has no replica on port %d that is online", s, port)
}

// Expand puts the ports and ids of the nodes into a text: <p0>, <id2>.
func (top *Topology) Expand(text string) string {
	for i, node := range top.Nodes {
		text = strings.ReplaceAll(text, fmt.Sprintf("<p%d>", i), strconv.Itoa(node.Port))
		if i < len(top.IDs) {
			text = strings.ReplaceAll(text, fmt.Sprintf("<id%d>", i), top.IDs[i])
		}
	}
	return text
}

// Reset empties the databases, so that another test can use the topology; it returns an error if the topology is not
// what it was at its start.
func (top *Topology) Reset() error {
	for _, node := range top.Nodes {
		if err := node.reset(); err != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
	}
	return Poll(Patience, func() error {
		for _, node := range top.Nodes {
			v, err := node.Try("DBSIZE")
			if err != nil || v.Kind != reply.Int || v.Int != 0 {
				return fmt.Errorf("%s: DBSIZE %v %v", node, v, err)
			}
		}
		if len(top.IDs) > 0 {
			return top.Whole()
		}
		return nil
	})
}

// reset empties one node; on a replica the primary's command does it.
func (s *Server) reset() error {
	info, err := s.TryInfo("replication")
	if err != nil || info["role"] != "master" {
		return err
	}
	v, err := s.Try("FLUSHALL")
	if err == nil && v.Kind == reply.Error {
		err = fmt.Errorf("FLUSHALL: %v", v)
	}
	return err
}
