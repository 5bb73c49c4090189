package manager

import (
	"strings"

	"github.com/covey-db/covey/internal/resp"
)

// Node is one line of CLUSTER NODES.
type Node struct {
	ID, Addr string // Addr is "host:port" for clients
	Flags    []string
	Primary  string // id of the primary, "" for a primary
	Linked   bool
	Slots    []string // "0-5460"
}

// Has says whether the node has a flag ("master", "fail", "myself" ...).
func (n *Node) Has(flag string) bool {
	for _, f := range n.Flags {
		if f == flag {
			return true
		}
	}
	return false
}

// Role is "primary" or "replica".
func (n *Node) Role() string {
	if n.Has("master") {
		return "primary"
	}
	return "replica"
}

// State is "ok", "suspected" or "failed".
func (n *Node) State() string {
	switch {
	case n.Has("fail"):
		return "failed"
	case n.Has("fail?"):
		return "suspected"
	}
	return "ok"
}

// Nodes asks a node for its view of the cluster.
func Nodes(c *Conn) ([]Node, error) {
	v, err := c.Do("CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	return ParseNodes(string(v.Str)), nil
}

// ParseNodes reads the reply of CLUSTER NODES. Lines with too few fields are left out.
func ParseNodes(text string) (nodes []Node) {
	const fixedFields = 8
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		if len(f) < fixedFields {
			continue
		}
		addr, _, _ := strings.Cut(f[1], "@")
		n := Node{ID: f[0], Addr: addr, Flags: strings.Split(f[2], ","), Linked: f[7] == "connected"}
		if f[3] != "-" {
			n.Primary = f[3]
		}
		for _, s := range f[fixedFields:] {
			if !strings.HasPrefix(s, "[") {
				n.Slots = append(n.Slots, s)
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// Healthy says whether a node sees the cluster as serving, and follows its primary when it is a replica.
func Healthy(c *Conn) (bool, error) {
	v, err := c.Do("CLUSTER", "INFO")
	if err != nil || !strings.Contains(string(v.Str), "cluster_state:ok") {
		return false, err
	}
	v, err = c.Do("ROLE")
	if err != nil {
		return false, err
	}
	return following(v), nil
}

// following says whether a ROLE reply is a primary's, or a connected replica's.
func following(v resp.Value) bool {
	if len(v.Elems) < 4 || string(v.Elems[0].Str) != "slave" {
		return true
	}
	return string(v.Elems[3].Str) == "connected"
}
