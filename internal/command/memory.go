package command

import (
	"fmt"
	"strings"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/object"
)

// This file holds MEMORY.

func memoryHandlers(d Deps) map[string]engine.Handler {
	return map[string]engine.Handler{
		"memory|usage":        {Run: cmdMemoryUsage},
		"memory|stats":        {Run: func(c *engine.Ctx) { cmdMemoryStats(c, d) }, Scope: engine.ScopeWhole},
		"memory|doctor":       {Run: func(c *engine.Ctx) { cmdMemoryDoctor(c, d) }, Scope: engine.ScopeWhole},
		"memory|malloc-stats": {Run: cmdMemoryMallocStats, Scope: engine.ScopeWhole},
		"memory|purge":        {Run: func(c *engine.Ctx) { cmdMemoryPurge(c, d) }},
		"memory|help":         {Run: cmdMemoryHelp},
	}
}

// samplesDefault is how many elements MEMORY USAGE looks at when it is not told.
const samplesDefault = 5

func cmdMemoryUsage(c *engine.Ctx) {
	samples := int64(samplesDefault)
	for i := 3; i < len(c.Args); i += 2 {
		if !c.ArgIs(i, "SAMPLES") || i+1 >= len(c.Args) {
			c.Err(engine.ErrSyntax)
			return
		}
		var ok bool
		if samples, ok = numberWithin(c, i+1, 0, 1<<63-1, engine.ErrSyntax); !ok {
			return
		}
	}
	rec, ok := c.Peek(0)
	if !ok {
		c.Null()
		return
	}
	c.ReplyInt(object.Size(rec, int(samples)))
}

// memoryFigures are what MEMORY STATS shows.
type memoryFigures struct {
	process ProcessMemory
	arenas  mem.Stats // of all shards
	used    int64     // bytes: base, data, clients and backlog
	base    int64     // bytes of used that there were before any data
	data    int64     // bytes of live blocks of the arenas
	keys    []int64   // by database
	backlog int64     // bytes of the log that is kept for replicas; maxmemory does not count them
	behind  int64     // bytes of backlog that are kept only because a replica has not read them yet
	clients int64     // bytes of clients with their buffers
}

func measureMemory(c *engine.Ctx, d Deps) (m memoryFigures) {
	m.keys = make([]int64, c.Engine().Databases())
	c.GlanceAtShards(func(s *engine.Shard) {
		stats := s.Part.Memory()
		s.Part.Arena().Publish()
		m.arenas.Mapped += stats.Mapped
		for purpose, bytes := range stats.Used {
			m.arenas.Used[purpose] += bytes
			m.data += bytes
		}
		for db := range m.keys {
			m.keys[db] += s.Part.Len(db)
		}
	})
	if d.Memory != nil {
		m.process = d.Memory()
	}
	if history := c.Engine().Log.History(); history.On {
		m.backlog = history.End - history.Start
		if replicasAttached(c.Engine()) {
			m.behind = max(0, m.backlog-history.KeepBytes)
		}
	}
	m.base, m.clients = c.Engine().Base(), c.Engine().ClientMemory.Sum()
	m.used = c.Engine().UsedMemory() + m.backlog
	return m
}

func replicasAttached(e *engine.Engine) bool {
	for _, s := range e.Clients.All() {
		if s.Flags()&engine.FlagReplica != 0 {
			return true
		}
	}
	return false
}

// ratio is a/b, 0 for nothing.
func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func cmdMemoryStats(c *engine.Ctx, d Deps) {
	m := measureMemory(c, d)
	peak := max(c.Engine().Stats.PeakMemory.Load(), m.used)
	total, dbs := int64(0), 0
	for _, n := range m.keys {
		total += n
		if n > 0 {
			dbs++
		}
	}
	tables := m.arenas.Used[mem.ForTable]
	overhead := m.base + m.backlog + m.clients + tables
	net := max(m.used-m.base, 1)
	perKey := int64(0)
	if total > 0 {
		perKey = net / total
	}
	c.Map(27 + dbs)
	field(c, "peak.allocated", peak)
	field(c, "total.allocated", m.used)
	field(c, "startup.allocated", m.base)
	field(c, "replication.backlog", m.backlog)
	field(c, "clients.slaves", m.behind)
	field(c, "clients.normal", m.clients)
	field(c, "cluster.links", 0)
	field(c, "aof.buffer", d.appendFileBytes())
	field(c, "lua.caches", 0)
	field(c, "functions.caches", 0)
	for db, n := range m.keys {
		if n > 0 {
			c.BulkString(fmt.Sprintf("db.%d", db))
			c.Map(3)
			field(c, "overhead.hashtable.main", tables*n/total)
			field(c, "overhead.hashtable.expires", 0)
			field(c, "overhead.hashtable.slot-to-keys", 0)
		}
	}
	field(c, "overhead.total", overhead)
	field(c, "keys.count", total)
	field(c, "keys.bytes-per-key", perKey)
	field(c, "dataset.bytes", m.used-overhead)
	doubleField(c, "dataset.percentage", 100*ratio(m.used-overhead, net))
	doubleField(c, "peak.percentage", 100*ratio(m.used, peak))
	allocatorFields(c, m)
}

// allocatorFields are the figures of the arenas and of what the process takes beyond them.
func allocatorFields(c *engine.Ctx, m memoryFigures) {
	mapped, resident := m.arenas.Mapped, m.process.Resident
	field(c, "allocator.allocated", m.data)
	field(c, "allocator.active", mapped)
	field(c, "allocator.resident", mapped)
	doubleField(c, "allocator-fragmentation.ratio", ratio(mapped, m.data))
	field(c, "allocator-fragmentation.bytes", mapped-m.data)
	doubleField(c, "allocator-rss.ratio", ratio(mapped, mapped))
	field(c, "allocator-rss.bytes", 0)
	doubleField(c, "rss-overhead.ratio", ratio(resident, mapped))
	field(c, "rss-overhead.bytes", resident-mapped)
	doubleField(c, "fragmentation", ratio(resident, m.used))
	field(c, "fragmentation.bytes", resident-m.used)
}

func field(c *engine.Ctx, name string, n int64) {
	c.BulkString(name)
	c.ReplyInt(n)
}

func doubleField(c *engine.Ctx, name string, f float64) {
	c.BulkString(name)
	c.Double(f)
}

const (
	doctorBytesMin   = 5 << 20   // below this nothing can be said
	doctorBufferMax  = 200 << 10 // bytes buffered for one client on average
	doctorSpareBytes = 10 << 20  // what may lie idle whatever its share
)

func cmdMemoryDoctor(c *engine.Ctx, d Deps) {
	m := measureMemory(c, d)
	if m.data < doctorBytesMin {
		c.Verbatim("There is too little data to say anything about its memory.\n")
		return
	}
	var found []string
	if peak := c.Engine().Stats.PeakMemory.Load(); ratio(peak, m.used) > 1.5 {
		found = append(found, "Peak: the data has been more than half as large again as it is now. What it took then goes "+
			"back to the system when the pages that held it become empty.")
	}
	if idle := m.arenas.Mapped - m.data; ratio(m.arenas.Mapped, m.data) > 1.4 && idle > doctorSpareBytes {
		found = append(found, "Fragmentation: the arenas hold much more than the data needs. It will be used again by new "+
			"data of the same sizes.")
	}
	if over := m.process.Resident - m.arenas.Mapped; ratio(m.process.Resident, m.arenas.Mapped) > 1.4 && over > doctorSpareBytes {
		found = append(found, "Process: what lies outside the arenas (buffers, connections, the Go heap) is large beside the "+
			"data. MEMORY PURGE gives back what is idle.")
	}
	if clients := int64(max(c.Engine().Clients.Len(), 1)); m.clients/clients > doctorBufferMax {
		found = append(found, "Clients: their buffers hold more than 200 KB on average. CLIENT LIST shows whose (qbuf, omem).")
	}
	if len(found) == 0 {
		c.Verbatim("No trouble with memory was found.\n")
		return
	}
	c.Verbatim("Trouble with memory was found:\n\n * " + strings.Join(found, "\n\n * ") + "\n")
}

func cmdMemoryMallocStats(c *engine.Ctx) {
	m := measureMemory(c, Deps{})
	var b strings.Builder
	fmt.Fprintf(&b, "arenas:%d mapped:%d used:%d\n", keyspace.Shards, m.arenas.Mapped, m.data)
	for purpose, bytes := range m.arenas.Used {
		fmt.Fprintf(&b, "%v:%d\n", mem.Purpose(purpose), bytes)
	}
	c.Verbatim(b.String())
}

func cmdMemoryPurge(c *engine.Ctx, d Deps) {
	if d.ReleaseMemory != nil {
		d.ReleaseMemory()
	}
	c.OK()
}

func cmdMemoryHelp(c *engine.Ctx) {
	c.Help(
		"DOCTOR",
		"    Look for trouble with memory and tell about it.",
		"MALLOC-STATS",
		"    Show what the arenas hold, by purpose.",
		"PURGE",
		"    Give memory that nobody uses back to the system.",
		"STATS",
		"    Show what the memory of the server is used for.",
		"USAGE <key> [SAMPLES <count>]",
		"    Tell how many bytes <key> and its value take. The sizes of elements are estimated",
		"    from <count> of them (0: from all).",
	)
}
