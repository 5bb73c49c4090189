package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/engine"
)

func TestEviction(t *testing.T) {
	for policy, all := range map[engine.Policy]bool{
		engine.AllKeysLRU: true, engine.AllKeysLFU: true, engine.AllKeysRandom: true,
		engine.VolatileLRU: false, engine.VolatileLFU: false, engine.VolatileRandom: false, engine.VolatileTTL: false,
	} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			h := newHarness(t)
			h.e.Evictor.SetPolicy(policy)
			value := strings.Repeat("v", 2000)
			for i := range 500 {
				h.args("SET", fmt.Sprint("lasting:", i), value)
				h.args("SET", fmt.Sprint("passing:", i), value, "EX", fmt.Sprint(1000+i))
			}
			h.e.TickClock() // publishes what the arenas hold
			limit := h.e.UsedMemory()
			h.e.Settings.MaxMemory().Store(limit)
			h.effects()
			for i := range 200 {
				h.want(fmt.Sprintf("SET new:%d %s EX 100000", i, value), "+OK")
				h.e.TickClock()
			}
			if used := h.e.UsedMemory(); used > limit+limit/10 {
				t.Errorf("%d bytes are used, the limit is %d", used, limit)
			}
			evicted := h.e.Stats.EvictedKeys.Load()
			if evicted == 0 {
				t.Fatal("nothing was evicted")
			}
			deleted := 0
			for _, effect := range h.effects() {
				if strings.HasPrefix(effect, "DEL ") {
					deleted++
				}
			}
			if int64(deleted) != evicted {
				t.Errorf("%d keys were evicted, %d removals logged", evicted, deleted)
			}
			lasting := h.do("KEYS lasting:*")
			if !all && len(lasting.Items) != 500 {
				t.Errorf("%d of 500 keys without expiry are left", len(lasting.Items))
			}
		})
	}
}

func TestEvictionByTTLTakesTheNextToExpire(t *testing.T) {
	h := newHarness(t)
	h.e.Evictor.SetPolicy(engine.VolatileTTL)
	h.e.Evictor.SetSamples(64)
	value := strings.Repeat("v", 2000)
	for i := range 200 {
		h.args("SET", fmt.Sprint("k:", i), value, "EX", fmt.Sprint(1000+i))
	}
	h.e.TickClock()
	h.e.Settings.MaxMemory().Store(h.e.UsedMemory() - 20*2000)
	h.do("SET one more")
	h.e.Settings.MaxMemory().Store(0)
	gone := 0
	for i := range 200 {
		if h.do(fmt.Sprint("EXISTS k:", i)).Int == 0 {
			gone++
			if i > 150 {
				t.Errorf("the key that expires as number %d was evicted", i)
			}
		}
	}
	if gone == 0 {
		t.Error("nothing was evicted")
	}
}

func TestNoEviction(t *testing.T) {
	h := newHarness(t)
	h.do("SET k v")
	h.e.TickClock()
	h.e.Settings.MaxMemory().Store(1)
	h.script(`
		SET k w -> -OOM command not allowed when used memory > 'maxmemory'.
		GET k -> "v"
		MULTI -> +OK
		SET k w -> -OOM...
		EXEC -> -EXECABORT...
		DEL k -> :1`)
}
