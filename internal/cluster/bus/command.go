package bus

import (
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the CLUSTER commands; command_view.go has those that show the cluster.

// orderNames are the subcommands that go to the core.
var orderNames = [...]string{
	"meet", "forget", "addslots", "addslotsrange", "delslots", "delslotsrange", "flushslots", "setslot", "replicate",
	"failover", "reset", "bumpepoch", "set-config-epoch", "saveconfig", "count-failure-reports",
}

// Handlers are the CLUSTER commands of a cluster node.
func (b *Bus) Handlers() map[string]engine.Handler {
	table := map[string]engine.Handler{
		"cluster|nodes":           {Run: b.cmdNodes},
		"cluster|slots":           {Run: b.cmdSlots},
		"cluster|shards":          {Run: b.cmdShards},
		"cluster|info":            {Run: b.cmdInfo},
		"cluster|links":           {Run: b.cmdLinks},
		"cluster|slot-stats":      {Run: b.cmdSlotStats, Scope: engine.ScopeWhole},
		"cluster|replicas":        {Run: b.cmdReplicas},
		"cluster|slaves":          {Run: b.cmdReplicas},
		"cluster|myid":            {Run: func(c *engine.Ctx) { c.BulkString(b.View().Me().ID.String()) }},
		"cluster|myshardid":       {Run: func(c *engine.Ctx) { c.BulkString(b.View().Me().Shard.String()) }},
		"cluster|keyslot":         {Run: cmdKeySlot},
		"cluster|countkeysinslot": {Run: cmdCountKeysInSlot, Scope: engine.ScopeWhole},
		"cluster|getkeysinslot":   {Run: cmdGetKeysInSlot, Scope: engine.ScopeWhole},
		"cluster|help":            {Run: cmdHelp},
	}
	for _, name := range orderNames {
		table["cluster|"+name] = engine.Handler{Run: b.cmdOrder, Aside: true}
	}
	return table
}

// DisabledHandlers are the CLUSTER commands of a node outside cluster mode.
func DisabledHandlers() map[string]engine.Handler {
	table := make(map[string]engine.Handler)
	for name := range (*Bus)(nil).Handlers() {
		table[name] = engine.Handler{Run: func(c *engine.Ctx) { c.Err("ERR This instance has cluster support disabled") }}
	}
	return table
}

func cmdKeySlot(c *engine.Ctx) { c.ReplyInt(int64(slot.Of(c.Args[2]))) }

// inSlot runs fn under the lock of a slot's shard.
func inSlot(c *engine.Ctx, s slot.ID, fn func(*keyspace.Part)) {
	c.WithShard(keyspace.ShardOf(s), func(shard *engine.Shard) bool {
		fn(shard.Part)
		return true
	})
}

func cmdCountKeysInSlot(c *engine.Ctx) {
	s, ok := num.ParseInt(c.Args[2])
	switch {
	case !ok:
		c.Err(engine.ErrNotInteger)
	case s < 0 || s >= slot.Count:
		c.Err("ERR Invalid slot")
	default:
		inSlot(c, slot.ID(s), func(p *keyspace.Part) { c.ReplyInt(int64(p.Count(0, slot.ID(s)))) })
	}
}

func cmdGetKeysInSlot(c *engine.Ctx) {
	s, ok1 := num.ParseInt(c.Args[2])
	most, ok2 := num.ParseInt(c.Args[3])
	switch {
	case !ok1 || !ok2:
		c.Err(engine.ErrNotInteger)
		return
	case s < 0 || s >= slot.Count || most < 0:
		c.Err("ERR Invalid slot or number of keys")
		return
	}
	inSlot(c, slot.ID(s), func(p *keyspace.Part) {
		left := min(most, int64(p.Count(0, slot.ID(s))))
		c.Array(int(left))
		if left == 0 {
			return
		}
		p.Each(0, slot.ID(s), func(r keyspace.Rec) bool {
			c.Bulk(r.Key())
			left--
			return left > 0
		})
	})
}

func cmdHelp(c *engine.Ctx) { c.Help(helpLines[:]...) }
