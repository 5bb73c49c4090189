package tests

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

// slotByRule is the slot of a key, written from the specification: CRC16 (XMODEM) of the first non-empty tag or of the key.
func slotByRule(key []byte) int {
	for open := 0; open < len(key); open++ {
		if key[open] != '{' {
			continue
		}
		for end := open + 1; end < len(key); end++ {
			if key[end] == '}' {
				if end > open+1 {
					key = key[open+1 : end]
				}
				break
			}
		}
		break
	}
	crc := uint16(0)
	for _, b := range key {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}

func TestCase_e202_SlotsOfOddKeys(t *testing.T) {
	own(t, "e202", func(t testing.TB) {
		c := startWholeNode(t).Dial(t)
		random := rand.New(rand.NewPCG(202, 0))
		for range 400 {
			key := make([]byte, random.IntN(20))
			for i := range key {
				if key[i] = byte(random.Uint32()); random.IntN(4) == 0 {
					key[i] = "{}"[random.IntN(2)]
				}
			}
			if got := c.Do(t, "CLUSTER", "KEYSLOT", string(key)); int(got.Int) != slotByRule(key) {
				t.Errorf("%q: %v, want %d", key, got, slotByRule(key))
			}
		}
	})
}

func TestCase_e207_ConfigEpoch(t *testing.T) {
	own(t, "e207", func(t testing.TB) {
		c := startNode(t).Dial(t)
		c.Want(t, "-ERR...", "CLUSTER", "SET-CONFIG-EPOCH", "-1")
		c.Want(t, "-ERR...", "CLUSTER", "SET-CONFIG-EPOCH", "x")
		c.Want(t, "+OK", "CLUSTER", "SET-CONFIG-EPOCH", "3")
		c.Want(t, "-ERR Node config epoch is already non-zero", "CLUSTER", "SET-CONFIG-EPOCH", "4")
		c.Want(t, "+STILL<*> | +BUMPED<*>", "CLUSTER", "BUMPEPOCH")
	})
}

func TestCase_e208_UncoveredSlots(t *testing.T) {
	own(t, "e208", func(t testing.TB) {
		node := startNode(t)
		c := node.Dial(t)
		c.Want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", "0", strconv.Itoa(slotOfFoo-1), strconv.Itoa(slotOfFoo+1), strconv.Itoa(lastSlot))
		testkit.Elapse(2500 * time.Millisecond) // a node reports a good state only some time after its start
		c.Want(t, "-CLUSTERDOWN...", "GET", keyOfNode2)
		c.Want(t, "-CLUSTERDOWN The cluster is down", "GET", keyOfNode0)
		c.Want(t, "+OK", "CONFIG", "SET", "cluster-require-full-coverage", "no")
		eventuallyReply(t, testkit.Patience, node, "+OK", "SET", keyOfNode0, "v")
		c.Want(t, "-CLUSTERDOWN Hash slot not served", "GET", keyOfNode2)
	})
}
