package tests

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

func TestCase_c049_OneNodeCluster(t *testing.T) {
	own(t, "c049", func(t testing.TB) {
		node := startNode(t)
		node.Want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", "0", strconv.Itoa(lastSlot))
		eventuallyReply(t, testkit.Patience, node, `has("cluster_state:ok")`, "CLUSTER", "INFO")
		node.Want(t, fmt.Sprintf(`[[:0 :16383 ["" | "127.0.0.1" :%d "<id>" ...]]]`, node.Port), "CLUSTER", "SLOTS")
	})
}

func TestCase_c050_UnknownEndpoint(t *testing.T) {
	own(t, "c050", func(t testing.TB) {
		node := startWholeNode(t, "cluster-preferred-endpoint-type unknown-endpoint")
		node.Want(t, fmt.Sprintf(`[[:0 :16383 [nil :%d "<id>" ...]]]`, node.Port), "CLUSTER", "SLOTS")
		node.Want(t, fmt.Sprintf(`at(0 field("nodes" at(0 field("endpoint" nil | "") & field("port" :%d))))`, node.Port), "CLUSTER", "SHARDS")
	})
}

func TestCase_c046_AnnouncedAddressAndPorts(t *testing.T) {
	own(t, "c046", func(t testing.TB) {
		node := startWholeNode(t,
			"cluster-announce-ip 127.0.0.2", "cluster-announce-port 17000", "cluster-announce-bus-port 27000")
		node.Want(t, `"<id> 127.0.0.2:17000@27000<*> myself,master <*>"`, "CLUSTER", "NODES")
		node.Want(t, `[[:0 :16383 ["127.0.0.2" :17000 "<id>" ...]]]`, "CLUSTER", "SLOTS")
		node.Want(t, `at(0 field("nodes" at(0 field("ip" "127.0.0.2") & field("endpoint" "127.0.0.2") & field("port" :17000))))`,
			"CLUSTER", "SHARDS")
	})
}

func TestCase_c051_HostnamesAtRunTime(t *testing.T) {
	own(t, "c051", func(t testing.TB) {
		node := startWholeNode(t, "cluster-preferred-endpoint-type hostname", "cluster-announce-ip 127.0.0.1")
		slots := func(endpoint string) string {
			return fmt.Sprintf(`[[:0 :16383 [%q :%d "<id>" ["ip" "127.0.0.1" ...]]]]`, endpoint, node.Port)
		}
		node.Want(t, slots("?"), "CLUSTER", "SLOTS")
		node.Want(t, "+OK", "CONFIG", "SET", "cluster-announce-hostname", "host-1.example")
		node.Want(t, slots("host-1.example"), "CLUSTER", "SLOTS")
		node.Want(t, `has(",host-1.example")`, "CLUSTER", "NODES")
		node.Want(t, "+OK", "CONFIG", "SET", "cluster-announce-hostname", "")
		node.Want(t, slots("?"), "CLUSTER", "SLOTS")
		node.Want(t, "-ERR...", "CONFIG", "SET", "cluster-announce-hostname", "no good_name!")
		node.Want(t, slots("?"), "CLUSTER", "SLOTS")
	})
}

func TestCase_c057_NameAsAnnouncedAddress(t *testing.T) {
	own(t, "c057", func(t testing.TB) {
		const name = "redis-node-0.svc.local"
		node := startWholeNode(t, "cluster-announce-ip "+name)
		node.Want(t, `has("`+name+`:")`, "CLUSTER", "NODES")
		id := node.OK(t, "CLUSTER", "MYID").Text
		if status := node.Stop(t); status != 0 {
			t.Fatalf("exit status %d", status)
		}
		node.Restart(t)
		node.Want(t, `has("`+id+` `+name+`:")`, "CLUSTER", "NODES")
	})
}

func TestCase_c056_ConfigSetPortIsSeen(t *testing.T) {
	own(t, "c056", func(t testing.TB) {
		node := startWholeNode(t)
		port := testkit.FreePort(t)
		node.Want(t, "+OK", "CONFIG", "SET", "port", strconv.Itoa(port))
		node.Port = port
		eventuallyReply(t, testkit.Patience, node, fmt.Sprintf(`[[:0 :16383 [any :%d "<id>" ...]]]`, port), "CLUSTER", "SLOTS")
		eventuallyReply(t, testkit.Patience, node, fmt.Sprintf(`has(":%d@")`, port), "CLUSTER", "NODES")
	})
}

// startNodesWithBusPorts starts nodes whose bus port is not port + 10000.
func startNodesWithBusPorts(t testing.TB, n int) []*testkit.Server {
	t.Helper()
	nodes := make([]*testkit.Server, n)
	for i := range nodes {
		bus := testkit.FreePort(t)
		nodes[i] = startNode(t, "cluster-port "+strconv.Itoa(bus))
		nodes[i].BusPort = bus
	}
	return nodes
}

func checkBusPorts(t testing.TB, nodes []*testkit.Server) {
	t.Helper()
	for _, node := range nodes {
		testkit.Eventually(t, testkit.Patience, func() error {
			lines, err := node.ClusterNodes()
			if err != nil {
				return err
			}
			if len(lines) != len(nodes) {
				return fmt.Errorf("%s knows %d nodes", node, len(lines))
			}
			for _, other := range nodes {
				address := fmt.Sprintf("127.0.0.1:%d@%d", other.Port, other.BusPort)
				if !anyLine(lines, func(n testkit.NodeLine) bool {
					return strings.HasPrefix(n.Address, address) && n.Connected && !n.Has("handshake")
				}) {
					return fmt.Errorf("%s has no link to %s: %v", node, address, lines)
				}
			}
			return nil
		})
	}
}

func anyLine(lines []testkit.NodeLine, fits func(testkit.NodeLine) bool) bool {
	for _, line := range lines {
		if fits(line) {
			return true
		}
	}
	return false
}

func TestCase_c047_BusPortOfItsOwn(t *testing.T) {
	own(t, "c047", func(t testing.TB) {
		nodes := startNodesWithBusPorts(t, 3)
		for _, other := range nodes[1:] {
			nodes[0].Want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(other.Port), strconv.Itoa(other.BusPort))
		}
		checkBusPorts(t, nodes)

		nodes = startNodesWithBusPorts(t, 3)
		args := []string{"--cluster", "create"}
		for _, node := range nodes {
			args = append(args, fmt.Sprintf("127.0.0.1:%d@%d", node.Port, node.BusPort))
		}
		redisCLI(t, append(args, "--cluster-yes")...)
		checkBusPorts(t, nodes)
	})
}
