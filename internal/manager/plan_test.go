package manager

import (
	"testing"

	"github.com/covey-db/covey/internal/slot"
	"pgregory.net/rapid"
)

func TestPlanCoversEverySlotOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		primaries := rapid.IntRange(3, 200).Draw(t, "primaries")
		replicas := rapid.IntRange(0, 400).Draw(t, "replicas")
		p, err := NewPlan(primaries, replicas)
		if err != nil {
			t.Fatal(err)
		}
		next, smallest, largest := 0, slot.Count, 0
		for _, r := range p.Ranges {
			if int(r.First) != next || r.Last < r.First {
				t.Fatalf("range %v does not continue at %d", r, next)
			}
			size := int(r.Last-r.First) + 1
			smallest, largest = min(smallest, size), max(largest, size)
			next = int(r.Last) + 1
		}
		if next != slot.Count || largest-smallest > 1 {
			t.Fatalf("covered up to %d, sizes %d to %d", next, smallest, largest)
		}
		for i, primary := range p.Replicas {
			if primary != i%primaries {
				t.Fatalf("replica %d follows %d", i, primary)
			}
		}
	})
}

func TestPlanNeedsThreePrimaries(t *testing.T) {
	if _, err := NewPlan(2, 0); err == nil {
		t.Fatal("a cluster of two primaries was planned")
	}
}

func TestParseNodes(t *testing.T) {
	nodes := ParseNodes("07c37df 127.0.0.1:30004@31004,host master - 0 1426238317239 4 connected 0-5460 7 [8->-67ed2db]\n" +
		"67ed2db 127.0.0.1:30002@31002 slave,fail 07c37df 0 1426238316232 2 disconnected\nbroken line\n")
	if len(nodes) != 2 {
		t.Fatalf("%d nodes", len(nodes))
	}
	a, b := nodes[0], nodes[1]
	if a.Addr != "127.0.0.1:30004" || a.Role() != "primary" || a.State() != "ok" || !a.Linked || len(a.Slots) != 2 {
		t.Errorf("first node: %+v", a)
	}
	if b.Role() != "replica" || b.State() != "failed" || b.Primary != "07c37df" || b.Linked {
		t.Errorf("second node: %+v", b)
	}
}
