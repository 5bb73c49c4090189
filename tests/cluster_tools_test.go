package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// TestRedisCLIReshapesACluster goes through what redis-cli --cluster does to a running cluster: nodes are added and taken
// away, slots are dealt anew, data is imported and saved.
func TestRedisCLIReshapesACluster(t *testing.T) {
	t.Parallel()
	top := startC3(t)
	at := top.Nodes[0].Addr()
	const keys = 500
	importKeys(t, at, keys)

	added, replica := startNode(t), startNode(t)
	redisCLI(t, "--cluster", "add-node", added.Addr(), at)
	id := added.OK(t, "CLUSTER", "MYID").Text
	top.Nodes, top.IDs = append(top.Nodes, added), append(top.IDs, id)
	reshape(t, top, "add-node", replica.Addr(), at, "--cluster-slave", "--cluster-master-id", id)
	top.Nodes, top.IDs = append(top.Nodes, replica), append(top.IDs, replica.OK(t, "CLUSTER", "MYID").Text)

	// A fiftieth of a share: a whole one is four thousand slots, and redis-cli has ten questions for each.
	reshape(t, top, "rebalance", at, "--cluster-use-empty-masters", "--cluster-weight", id+"=0.02")
	contains(t, reshape(t, top, "info", at), "109 slots | 1 slaves", fmt.Sprintf("%d keys in 4 masters", keys))
	contains(t, redisCLI(t, "--cluster", "call", at, "PING"), added.Addr()+": PONG", replica.Addr()+": PONG")
	contains(t, redisCLI(t, "--cluster", "set-timeout", at, "16000"), "5 OK, 0 ERR")
	contains(t, replica.ReadFile(t, "test.conf"), "cluster-node-timeout 16000")
	backUp(t, at, keys)

	reshape(t, top, "reshard", at, "--cluster-from", id, "--cluster-to", top.IDs[0], "--cluster-slots", "109", "--cluster-yes")
	for last := 4; last > 2; last-- {
		reshape(t, top, "del-node", at, top.IDs[last])
		top.Nodes, top.IDs = top.Nodes[:last], top.IDs[:last]
	}
	contains(t, reshape(t, top, "check", at), "All 16384 slots covered", fmt.Sprintf("%d keys in 3 masters", keys))
	f := newFollower(top, 0)
	defer f.close()
	checkNumbers(t, f, "key:", keys)
}

// contains wants texts in what a tool printed.
func contains(t testing.TB, printed string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(printed, text) {
			t.Errorf("no %q in:\n%s", text, printed)
		}
	}
}

// importKeys fills the real server and has redis-cli carry its keys into the cluster.
func importKeys(t testing.TB, cluster string, keys int) {
	t.Helper()
	source := testkit.Start(t, testkit.Options{Binary: testkit.Redis(t)})
	c := source.Dial(t)
	for n := range keys {
		c.OK(t, "SET", fmt.Sprint("key:", n), fmt.Sprint(n))
	}
	redisCLI(t, "--cluster", "import", cluster, "--cluster-from", source.Addr())
	source.Want(t, ":0", "DBSIZE")
}

// backUp lets redis-cli fetch a snapshot of every primary, and checks each with both tools.
func backUp(t testing.TB, cluster string, keys int) {
	t.Helper()
	dir := t.TempDir()
	redisCLI(t, "--cluster", "backup", cluster, dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.rdb"))
	must(t, err)
	if len(files) != 4 {
		t.Fatalf("files of %d primaries", len(files))
	}
	var found int
	for _, file := range files {
		out, err := exec.Command(testkit.Covey(t).Path, "check", file).CombinedOutput()
		must(t, err)
		var good, bytes, n int
		for line := range strings.Lines(string(out)) {
			if got, _ := fmt.Sscanf(line, "good: %d bytes, %d keys", &bytes, &n); got == 2 {
				good, found = good+1, found+n
			}
		}
		if good != 1 {
			t.Errorf("%s:\n%s", file, out)
		}
		out, err = exec.Command(testkit.Need(t, "redis-check-rdb"), file).CombinedOutput()
		if err != nil {
			t.Errorf("redis-check-rdb: %v\n%s", err, out)
		}
	}
	if found != keys {
		t.Errorf("the snapshots hold %d keys", found)
	}
	if _, err := os.Stat(filepath.Join(dir, "nodes.json")); err != nil {
		t.Error(err)
	}
}
