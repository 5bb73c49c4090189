package bus

import (
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the CLUSTER commands that change something: they are the core's. The client waits without holding its
// event loop until the effects of the command are done.

// changing are the sub-commands that the core runs.
var changing = []string{
	"meet", "forget", "addslots", "addslotsrange", "delslots", "delslotsrange", "flushslots", "setslot", "replicate", "failover",
	"reset", "bumpepoch", "set-config-epoch", "saveconfig", "count-failure-reports",
}

// reading are the sub-commands that look at a view.
var reading = map[string]func(*Bus, *engine.Ctx){
	"nodes": (*Bus).cmdNodes, "slots": (*Bus).cmdSlots, "shards": (*Bus).cmdShards, "info": (*Bus).cmdInfo, "myid": (*Bus).cmdMyID,
	"myshardid": (*Bus).cmdMyShardID, "links": (*Bus).cmdLinks, "keyslot": (*Bus).cmdKeySlot,
	"countkeysinslot": (*Bus).cmdCountKeys, "getkeysinslot": (*Bus).cmdGetKeys, "replicas": (*Bus).cmdReplicas,
	"slaves": (*Bus).cmdReplicas,
}

// Handlers are the CLUSTER commands of a cluster node.
func (b *Bus) Handlers() map[string]engine.Handler {
	all := make(map[string]engine.Handler)
	for _, name := range changing {
		all["cluster|"+name] = engine.Handler{Run: b.cmdChange}
	}
	for name, run := range reading {
		all["cluster|"+name] = engine.Handler{Run: func(c *engine.Ctx) { run(b, c) }}
	}
	all["cluster|help"] = engine.Handler{Run: cmdHelp}
	return all
}

const errDisabled = "ERR This instance has cluster support disabled"

// DisabledHandlers are the CLUSTER commands of a node without cluster mode: all but HELP say so.
func DisabledHandlers() map[string]engine.Handler {
	all := make(map[string]engine.Handler)
	refuse := engine.Handler{Run: func(c *engine.Ctx) { c.Err(errDisabled) }}
	for _, name := range changing {
		all["cluster|"+name] = refuse
	}
	for name := range reading {
		all["cluster|"+name] = refuse
	}
	all["cluster|help"] = engine.Handler{Run: cmdHelp}
	return all
}

// cmdChange hands a command to the core and waits for its answer.
func (b *Bus) cmdChange(c *engine.Ctx) {
	if c.InExec() {
		c.Err("ERR Command not allowed inside a transaction")
		return
	}
	args := make([][]byte, 0, len(c.Args)-1)
	for _, a := range c.Args[1:] {
		args = append(args, append([]byte(nil), a...))
	}
	request := b.nextRequest.Add(1)
	wait := c.Suspend(engine.WaitCluster, 0, nil, nil)
	go b.post(item{work: func() {
		b.answers[request] = func(r core.Reply) { wait.Resume(func(c *engine.Ctx) { replyCore(c, r) }) }
		b.run(core.Command{Request: request, Args: args, Keys: keyCounts{b}})
	}})
}

func replyCore(c *engine.Ctx, r core.Reply) {
	switch r.Kind {
	case core.Failure:
		c.Err(r.Text)
	case core.Integer:
		c.ReplyInt(r.Number)
	default:
		c.Simple(r.Text)
	}
}

// run steps a command. SETSLOT looks at the keys of its slot, so the slot's shard is locked until its route is flipped: no
// key can come in between.
func (b *Bus) run(cmd core.Command) {
	if len(cmd.Args) > 1 && engine.FoldEqual(cmd.Args[0], "FAILOVER") || len(cmd.Args) == 1 && engine.FoldEqual(cmd.Args[0], "FAILOVER") {
		b.fastUntil = b.now() + fastFor
	}
	if len(cmd.Args) > 1 && engine.FoldEqual(cmd.Args[0], "SETSLOT") {
		if n, ok := num.ParseInt(cmd.Args[1]); ok && n >= 0 && n < slot.Count {
			b.held = keyspace.ShardOf(slot.ID(n))
			s := b.e.Lock(b.held)
			defer func() {
				b.held = -1
				s.Unlock()
			}()
		}
	}
	b.step(cmd)
}

// keyCounts tells the core of the data.
type keyCounts struct{ b *Bus }

// Keys implements core.KeyCounts.
func (k keyCounts) Keys() (n int) {
	for shard := range k.b.e.Shards() {
		k.with(shard, func(p *keyspace.Part) { n += int(p.Len(0)) })
	}
	return n
}

// KeysIn implements core.KeyCounts.
func (k keyCounts) KeysIn(s slot.ID) (n int) {
	k.with(keyspace.ShardOf(s), func(p *keyspace.Part) { n = p.Count(0, s) })
	return n
}

// with runs fn under a shard's lock, which the running command may hold already.
func (k keyCounts) with(shard int, fn func(*keyspace.Part)) {
	if shard == k.b.held {
		fn(k.b.e.Part(shard))
		return
	}
	s := k.b.e.Lock(shard)
	defer s.Unlock()
	fn(s.Part)
}

func cmdHelp(c *engine.Ctx) {
	lines := []string{
		"ADDSLOTS <slot> [...]", "    Serve these slots.",
		"ADDSLOTSRANGE <first> <last> [...]", "    Serve these ranges of slots.",
		"BUMPEPOCH", "    Take a new configuration epoch.",
		"COUNT-FAILURE-REPORTS <node-id>", "    How many nodes say that a node fails.",
		"COUNTKEYSINSLOT <slot>", "    How many keys a slot holds here.",
		"DELSLOTS <slot> [...]", "    No longer know who serves these slots.",
		"DELSLOTSRANGE <first> <last> [...]", "    No longer know who serves these ranges.",
		"FAILOVER [FORCE|TAKEOVER]", "    Make this replica the primary.",
		"FLUSHSLOTS", "    Serve no slot.",
		"FORGET <node-id>", "    Remove a node.",
		"GETKEYSINSLOT <slot> <count>", "    Some keys of a slot.",
		"INFO", "    The state of the cluster in numbers.",
		"KEYSLOT <key>", "    The slot of a key.",
		"LINKS", "    The connections of the bus.",
		"MEET <ip> <port> [<bus-port>]", "    Introduce this node to another.",
		"MYID", "    The name of this node.",
		"MYSHARDID", "    The name of this node's shard.",
		"NODES", "    The nodes as this one sees them.",
		"REPLICAS <node-id>", "    The replicas of a node.",
		"REPLICATE <node-id>", "    Follow a primary.",
		"RESET [HARD|SOFT]", "    Forget the cluster.",
		"SAVECONFIG", "    Write the cluster's state to disk.",
		"SET-CONFIG-EPOCH <epoch>", "    Give a new node its epoch.",
		"SETSLOT <slot> (MIGRATING|IMPORTING|STABLE|NODE <node-id>)", "    Move a slot.",
		"SHARDS", "    The shards: slots and nodes.",
		"SLOTS", "    Who serves which slots.",
	}
	c.Array(len(lines) + 3)
	c.Simple("CLUSTER <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	for _, line := range lines {
		c.Simple(line)
	}
	c.Simple("HELP")
	c.Simple("    Print this help.")
}
