package replication_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/vfs"
)

// leftovers are the files in the directory of a node.
func (n *node) leftovers() (names []string) {
	n.t.Helper()
	list, err := os.ReadDir(n.dir)
	if err != nil {
		n.t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestFullDiskDuringFullSync: a replica that has no room for the snapshot keeps its data, and comes back when there is room.
func TestFullDiskDuringFullSync(t *testing.T) {
	primary, replica := start(t), start(t)
	change(t, primary.Client, 0, 4000)
	replica.Want(t, "+OK", "SET", "old", "data")
	replica.disk.LimitSpace(1000)
	replica.follow(primary.addr)
	testkit.Eventually(t, caughtUpWithin, func() error {
		if replica.disk.Count(vfs.OpRemove) < 3 {
			return os.ErrNotExist
		}
		return nil
	})
	replica.Want(t, `"data"`, "GET", "old")
	if names := replica.leftovers(); len(names) > 1 {
		t.Error(names)
	}
	replica.disk.Heal()
	agree(t, primary.Client, replica.Client)
	replica.Want(t, "nil", "GET", "old")
	testkit.Eventually(t, caughtUpWithin, func() error {
		if names := replica.leftovers(); len(names) > 0 {
			return fmt.Errorf("%v is left", names)
		}
		return nil
	})
}

// TestSweep removes the files of synchronisations of this node, and nothing else.
func TestSweep(t *testing.T) {
	n := start(t)
	for _, name := range []string{"temp-repl-1-dump.rdb", "temp-sync-12-dump.rdb", "temp-repl-1-other.rdb", "temp-save-1-dump.rdb", "dump.rdb"} {
		if err := os.WriteFile(filepath.Join(n.dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n.m.Sweep()
	if names := n.leftovers(); len(names) != 3 {
		t.Error(names)
	}
}
