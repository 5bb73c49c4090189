package testkit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit/reply"
)

const slotCount = 16384

// The node timeouts of a cluster. A node that a busy machine does not let run for so long is taken for dead by its peers.
const (
	calmTimeout = 15 * time.Second // what a node is started with, and what a whole cluster has: nothing is to fail in it
	formTimeout = 2 * time.Second  // while a cluster forms: what one node tells is round in half the time
	FailTimeout = 4 * time.Second  // after Hasten: a node that is gone is to be found out soon
)

// ClusterOptions say what a cluster is made of.
type ClusterOptions struct {
	Binaries  []Binary   // of node i; the last one serves for the rest; none: the server under test
	Primaries int        // nodes 0 to Primaries-1, with equal shares of the slots in order
	Replicas  []int      // Replicas[i] is the primary of node Primaries+i
	Conf      []string   // further lines for every node
	TLS       *Authority // everything goes over TLS
}

// Topology is a set of servers that belong together.
type Topology struct {
	Name  string
	Nodes []*Server
	IDs   []string // node ids, in cluster mode
}

// ClusterConf are the lines that make a node of a cluster.
func ClusterConf() []string {
	return []string{
		"cluster-enabled yes",
		"cluster-config-file nodes.conf",
		fmt.Sprintf("cluster-node-timeout %d", calmTimeout.Milliseconds()),
	}
}

// StartCluster starts the nodes and makes them a cluster, with the commands that an operator would use.
func StartCluster(t testing.TB, o ClusterOptions) *Topology {
	t.Helper()
	members := o.Primaries + len(o.Replicas)
	top := &Topology{Name: fmt.Sprintf("cluster of %d", members)}
	for i := range members {
		top.Nodes = append(top.Nodes, Launch(t, Options{
			Binary: o.binary(t, i),
			Conf:   append(ClusterConf(), o.Conf...),
			TLS:    o.TLS,
		}))
	}
	for _, node := range top.Nodes {
		node.AwaitReady(t)
		top.IDs = append(top.IDs, node.OK(t, "CLUSTER", "MYID").Text)
	}
	top.setNodeTimeout(t, formTimeout)
	top.form(t, o)
	top.AwaitWhole(t)
	top.setNodeTimeout(t, calmTimeout)
	return top
}

// Hasten lets the nodes that run find out within seconds that one is gone. Before it, a test can rely on that nobody is
// taken for dead and no replica takes over by itself.
func (top *Topology) Hasten(t testing.TB) {
	t.Helper()
	top.setNodeTimeout(t, FailTimeout)
}

func (top *Topology) setNodeTimeout(t testing.TB, d time.Duration) {
	t.Helper()
	for _, node := range top.Running() {
		node.Want(t, "+OK", "CONFIG", "SET", "cluster-node-timeout", strconv.FormatInt(d.Milliseconds(), 10))
	}
}

func (o ClusterOptions) binary(t testing.TB, node int) Binary {
	t.Helper()
	if len(o.Binaries) == 0 {
		return SUT(t)
	}
	return o.Binaries[min(node, len(o.Binaries)-1)]
}

// SlotShare is the range of slots of one of several primaries.
func SlotShare(i, primaries int) (first, last int) {
	bound := func(i int) int { return (i*slotCount + primaries/2) / primaries }
	return bound(i), bound(i+1) - 1
}

func (top *Topology) form(t testing.TB, o ClusterOptions) {
	t.Helper()
	for i, node := range top.Nodes[:o.Primaries] {
		first, last := SlotShare(i, o.Primaries)
		node.Want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last))
	}
	for i, node := range top.Nodes {
		node.Want(t, "+OK", "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
	}
	top.meet(t)
	for i, primary := range o.Replicas {
		top.Nodes[o.Primaries+i].MakeReplica(t, top.IDs[primary])
	}
}

// meet makes all nodes known to node 0. A handshake is given up after the node timeout, and nobody begins it again: who is
// still a stranger then is met once more.
func (top *Topology) meet(t testing.TB) {
	t.Helper()
	var again time.Time
	Eventually(t, Patience, func() error {
		var strangers []*Server
		for i, node := range top.Nodes[1:] {
			if line, err := top.Nodes[0].Line(top.IDs[i+1]); err != nil || line.Has("handshake") {
				strangers = append(strangers, node)
			}
		}
		if len(strangers) == 0 {
			return nil
		}
		if time.Now().After(again) {
			again = time.Now().Add(2 * formTimeout)
			for _, node := range strangers {
				top.Nodes[0].Want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(node.Port))
			}
		}
		return fmt.Errorf("%s has not met %v", top.Nodes[0], strangers)
	})
}

// MakeReplica makes the node a replica of another, as soon as it knows it as a primary.
func (s *Server) MakeReplica(t testing.TB, primaryID string) {
	t.Helper()
	Eventually(t, Patience, func() error {
		v, err := s.Try("CLUSTER", "REPLICATE", primaryID)
		if err == nil && v.Kind == reply.Error {
			err = fmt.Errorf("CLUSTER REPLICATE: %v", v)
		}
		return err
	})
}

// AwaitWhole waits until every node that runs sees the whole cluster as working: state ok, all members known, replicas
// linked and listed.
func (top *Topology) AwaitWhole(t testing.TB) {
	t.Helper()
	Eventually(t, Patience, top.Whole)
}

// Whole returns what is still missing of a working cluster.
func (top *Topology) Whole() error {
	running := top.Running()
	replicas := 0
	for _, node := range running {
		info, err := node.ClusterInfo()
		if err != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
		if info["cluster_state"] != "ok" || info["cluster_known_nodes"] != strconv.Itoa(len(top.Nodes)) {
			return fmt.Errorf("%s: cluster_state %s, known nodes %s of %d", node,
				info["cluster_state"], info["cluster_known_nodes"], len(top.Nodes))
		}
		repl, err := node.TryInfo("replication")
		if err != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
		if repl["role"] == "slave" {
			replicas++
			if repl["master_link_status"] != "up" {
				return fmt.Errorf("%s: master_link_status %s", node, repl["master_link_status"])
			}
		}
	}
	return top.agree(running, replicas)
}

// agree checks that the nodes tell the same about slots and roles.
func (top *Topology) agree(running []*Server, replicas int) error {
	var first []NodeLine
	for _, node := range running {
		lines, err := node.ClusterNodes()
		if err != nil {
			return err
		}
		listed := 0
		for _, line := range lines {
			if line.Has("slave") && !line.Has("fail") {
				listed++
			}
			if !line.Connected && !line.Has("fail") {
				return fmt.Errorf("%s: no link to %s", node, line.ID)
			}
		}
		if listed != replicas {
			return fmt.Errorf("%s: %d replicas listed, %d exist", node, listed, replicas)
		}
		if first == nil {
			first = lines
			continue
		}
		if !slices.EqualFunc(first, lines, NodeLine.sameRole) {
			return fmt.Errorf("%s sees\n%v\nand %s\n%v", running[0], first, node, lines)
		}
	}
	return nil
}

// Running are the nodes whose process runs.
func (top *Topology) Running() []*Server {
	return slices.DeleteFunc(slices.Clone(top.Nodes), func(s *Server) bool { return !s.Running() })
}

// ClusterInfo returns the fields of CLUSTER INFO.
func (s *Server) ClusterInfo() (map[string]string, error) {
	v, err := s.Try("CLUSTER", "INFO")
	if err == nil && v.Kind == reply.Error {
		err = fmt.Errorf("CLUSTER INFO: %v", v)
	}
	return Fields(v.Plain()), err
}

// NodeLine is one line of CLUSTER NODES.
type NodeLine struct {
	ID        string
	Address   string // ip:port@cport[,hostname]
	Flags     []string
	Primary   string // id, "-" for none
	Epoch     int64
	Connected bool
	Slots     []string // "5", "0-5460", "[7->-id]"
}

// Has tells whether the node has the flag, as "slave" or "fail?".
func (n NodeLine) Has(flag string) bool { return slices.Contains(n.Flags, flag) }

func (n NodeLine) sameRole(other NodeLine) bool {
	return n.ID == other.ID && n.Primary == other.Primary && n.Has("master") == other.Has("master") &&
		n.Epoch == other.Epoch && slices.Equal(n.owned(), other.owned())
}

// owned are the slots without the markers of open ones, which only the node itself shows.
func (n NodeLine) owned() []string {
	return slices.DeleteFunc(slices.Clone(n.Slots), func(s string) bool { return strings.HasPrefix(s, "[") })
}

// Owns tells whether the line lists the slot.
func (n NodeLine) Owns(slot int) bool {
	for _, s := range n.owned() {
		from, to, isRange := strings.Cut(s, "-")
		first, _ := strconv.Atoi(from)
		last := first
		if isRange {
			last, _ = strconv.Atoi(to)
		}
		if first <= slot && slot <= last {
			return true
		}
	}
	return false
}

// ClusterNodes returns the lines of CLUSTER NODES in the order of the ids.
func (s *Server) ClusterNodes() ([]NodeLine, error) {
	v, err := s.Try("CLUSTER", "NODES")
	if err != nil || v.Kind == reply.Error {
		return nil, fmt.Errorf("%s: CLUSTER NODES: %v %v", s, v, err)
	}
	return ParseNodeLines(v.Plain())
}

// ParseNodeLines reads what CLUSTER NODES prints, and nodes.conf without its last line.
func ParseNodeLines(text string) ([]NodeLine, error) {
	var lines []NodeLine
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "vars ") {
			continue
		}
		words := strings.Fields(line)
		if len(words) < 8 {
			return nil, fmt.Errorf("node line of %d words: %q", len(words), line)
		}
		epoch, err := strconv.ParseInt(words[6], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("node line %q: %w", line, err)
		}
		lines = append(lines, NodeLine{
			ID: words[0], Address: words[1], Flags: strings.Split(words[2], ","), Primary: words[3],
			Epoch: epoch, Connected: words[7] == "connected", Slots: words[8:],
		})
	}
	slices.SortFunc(lines, func(a, b NodeLine) int { return strings.Compare(a.ID, b.ID) })
	return lines, nil
}

// Line returns what the node tells about another, or about itself.
func (s *Server) Line(id string) (NodeLine, error) {
	lines, err := s.ClusterNodes()
	if err != nil {
		return NodeLine{}, err
	}
	i := slices.IndexFunc(lines, func(n NodeLine) bool { return n.ID == id })
	if i < 0 {
		return NodeLine{}, fmt.Errorf("%s does not know %s", s, id)
	}
	return lines[i], nil
}

// OwnerIs returns nil if every running node says that the slot belongs to node i.
func (top *Topology) OwnerIs(slot, i int) error {
	for _, node := range top.Running() {
		line, err := node.Line(top.IDs[i])
		if err != nil {
			return err
		}
		if !line.Owns(slot) {
			return fmt.Errorf("%s: slot %d is not with node %d: %v", node, slot, i, line.Slots)
		}
	}
	return nil
}

// StateOK returns nil if every running node reports a working cluster.
func (top *Topology) StateOK() error {
	for _, node := range top.Running() {
		info, err := node.ClusterInfo()
		if err == nil && info["cluster_state"] != "ok" {
			err = fmt.Errorf("%s: cluster_state %s", node, info["cluster_state"])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ReplicaLinked returns nil if the node is a replica of that primary with a working link.
func (s *Server) ReplicaLinked(primaryPort int) error {
	info, err := s.TryInfo("replication")
	if err != nil {
		return err
	}
	if info["role"] != "slave" || info["master_link_status"] != "up" || info["master_port"] != strconv.Itoa(primaryPort) {
		return fmt.Errorf("%s: role %s, master port %s, link %s", s, info["role"], info["master_port"], info["master_link_status"])
	}
	return nil
}
