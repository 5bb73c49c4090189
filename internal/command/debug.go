package command

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/enc/list"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/glob"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds DEBUG: what tests of servers and clients use. Only what does something real here is there.

func debugHandlers(d Deps) map[string]engine.Handler {
	subs := debugSubs(d)
	return map[string]engine.Handler{
		"debug": {Run: func(c *engine.Ctx) { cmdDebug(c, subs) }, Scope: engine.ScopeWhole},
	}
}

const (
	errReloadOptions = "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options."
	errUnavailable   = "ERR not available in this server"
)

// debugSub is one sub-command of DEBUG: how many arguments it takes, both words of its name included.
type debugSub struct {
	least, most int
	run         func(*engine.Ctx)
}

const anyNumber = math.MaxInt

func debugSubs(d Deps) map[string]debugSub {
	return map[string]debugSub{
		"HELP":                         {2, 2, cmdDebugHelp},
		"SLEEP":                        {3, 3, func(c *engine.Ctx) { cmdDebugSleep(c, d.Freeze) }},
		"CONFIG-REWRITE-FORCE-ALL":     {2, 2, func(c *engine.Ctx) { cmdConfigRewrite(c, d.RewriteConfigAll) }},
		"DIGEST":                       {2, 2, cmdDebugDigest},
		"DIGEST-VALUE":                 {2, anyNumber, cmdDebugDigestValue},
		"OBJECT":                       {3, 3, cmdDebugObject},
		"SET-ACTIVE-EXPIRE":            {3, 3, cmdDebugSetActiveExpire},
		"SET-DISABLE-DENY-SCRIPTS":     {3, 3, cmdDebugDenyScripts},
		"SET-SKIP-CHECKSUM-VALIDATION": {3, 3, cmdDebugSkipChecksums},
		"CHANGE-REPL-ID":               {2, 2, func(c *engine.Ctx) { cmdDebugChangeReplID(c, d.NewReplID) }},
		"RELOAD":                       {2, anyNumber, func(c *engine.Ctx) { cmdDebugReload(c, d.Reload) }},
		"POPULATE":                     {3, 5, cmdDebugPopulate},
		"PROTOCOL":                     {3, 3, cmdDebugProtocol},
		"STRINGMATCH-LEN":              {4, 4, cmdDebugStringMatch},
		"LOADAOF":                      {2, 2, func(c *engine.Ctx) { cmdDebugLoadFile(c, d.ReloadAppendFile) }},
		"AOF-FLUSH-SLEEP":              {3, 3, func(c *engine.Ctx) { cmdDebugSlowFile(c, d.SlowAppendFile) }},

		"QUICKLIST-PACKED-THRESHOLD": {3, 3, cmdDebugPlainElements},
		"JMAP":                       {2, 2, cmdDebugNothing},
		"PAUSE-CRON":                 {3, 3, cmdDebugPauseCron},
		"REPLYBUFFER":                {4, 4, cmdDebugReplyBuffer},
		"DROP-CLUSTER-PACKET-FILTER": {3, 3, func(c *engine.Ctx) { cmdDebugPacketFilter(c, d.Links) }},
		"CLUSTERLINK":                {5, 5, func(c *engine.Ctx) { cmdDebugClusterLink(c, d.Links) }},
		"ERROR":                      {3, 3, cmdDebugError},
		"LOG":                        {3, 3, func(c *engine.Ctx) { cmdDebugLog(c, d.LogWarning) }},
		"PANIC":                      {2, 2, cmdDebugPanic},
		"SEGFAULT":                   {2, 2, func(c *engine.Ctx) { cmdDebugSegfault(c, d.Segfault) }},
		"ASSERT":                     {2, 2, cmdDebugPanic},
	}
}

func cmdDebug(c *engine.Ctx, subs map[string]debugSub) {
	sub, ok := subs[string(bytes.ToUpper(c.Args[1]))]
	if !ok || len(c.Args) < sub.least || len(c.Args) > sub.most {
		subcommandErr(c)
		return
	}
	sub.run(c)
}

// LinkBreaker is what DEBUG can do to the cluster bus.
type LinkBreaker interface {
	// DropPackets has packets of a type thrown away; -1 none.
	DropPackets(kind int64)
	// KillLinks breaks the links to a node, from it, or both; false when nobody knows the node.
	KillLinks(id string, to, from bool) (known bool)
}

// cmdDebugPacketFilter has packets of the cluster bus dropped by their type.
func cmdDebugPacketFilter(c *engine.Ctx, links LinkBreaker) {
	n, ok := c.Int(2)
	if !ok {
		return
	}
	if links != nil {
		links.DropPackets(n)
	}
	c.OK()
}

// cmdDebugClusterLink breaks links of the cluster bus.
func cmdDebugClusterLink(c *engine.Ctx, links LinkBreaker) {
	all := c.ArgIs(3, "ALL")
	to, from := all || c.ArgIs(3, "TO"), all || c.ArgIs(3, "FROM")
	switch {
	case links == nil:
		c.Err("ERR Debug option only available for cluster mode enabled setup!")
	case !c.ArgIs(2, "KILL"):
		subcommandErr(c)
	case !to && !from:
		c.Err("ERR Unknown direction " + shown(c.Args[3]))
	case !links.KillLinks(string(bytes.ToLower(c.Args[4])), to, from):
		c.Err("ERR Unknown node " + shown(c.Args[4]))
	default:
		c.OK()
	}
}

// cmdDebugNothing is asked for a dump of the heap's map, which there is none of.
func cmdDebugNothing(c *engine.Ctx) { c.OK() }

// cmdDebugPauseCron stops what the node does without being asked.
func cmdDebugPauseCron(c *engine.Ctx) {
	if n, ok := c.Int(2); ok {
		c.Engine().Settings.CronPaused.Store(n != 0)
		c.OK()
	}
}

// cmdDebugSkipChecksums says whether RESTORE looks at the checksum of its payload.
func cmdDebugSkipChecksums(c *engine.Ctx) {
	if n, ok := c.Int(2); ok {
		c.Engine().Settings.SkipChecksums.Store(n != 0)
		c.OK()
	}
}

// cmdDebugReplyBuffer takes the switch of resizing: a connection has no buffer of its own for replies that could change its
// size.
func cmdDebugReplyBuffer(c *engine.Ctx) {
	if !c.ArgIs(2, "RESIZING") {
		subcommandErr(c)
		return
	}
	if _, ok := c.Int(3); ok {
		c.OK()
	}
}

// withKey finds the key in an argument, expired or not, under its lock; false when there is none.
func withKey(c *engine.Ctx, arg int, fn func(keyspace.Rec)) (found bool) {
	key := c.KeyAt(arg)
	c.WithShard(keyspace.ShardOf(key.Slot), func(s *engine.Shard) bool {
		var rec keyspace.Rec
		if rec, found = s.Part.Find(c.DB(), &key); found {
			fn(rec)
		}
		return found
	})
	return found
}

// cmdDebugSleep stops the whole node, or at least everything that touches data.
func cmdDebugSleep(c *engine.Ctx, freeze func(time.Duration)) {
	seconds, ok := num.ParseFloat(c.Args[2])
	if !ok || !(seconds > 0) {
		seconds = 0
	}
	const longest = 1 << 30 // seconds: what a Duration can hold
	span := time.Duration(min(seconds, longest) * float64(time.Second))
	if freeze != nil {
		freeze(span)
	} else {
		c.LockAll()
		<-time.After(span)
	}
	c.OK()
}

func cmdDebugObject(c *engine.Ctx) {
	var text string
	found := withKey(c, 2, func(rec keyspace.Rec) {
		size := len(object.AppendValue(nil, rec, new(checksum.LZF)))
		text = fmt.Sprintf("Value at:slot-%d refcount:1 encoding:%s serializedlength:%d lru:%d lru_seconds_idle:%d",
			c.Engine().Key(rec.Key()).Slot, encodingName(rec.Encoding()), size, rec.Clock(), c.Engine().IdleSeconds(rec))
	})
	if !found {
		c.Err(engine.ErrNoSuchKey)
		return
	}
	c.Simple(text)
}

func cmdDebugSetActiveExpire(c *engine.Ctx) {
	n, _ := num.ParseInt(c.Args[2])
	c.Engine().Settings.ActiveExpire.Store(n != 0)
	c.OK()
}

func cmdDebugChangeReplID(c *engine.Ctx, newID func() string) {
	if newID == nil {
		c.Err(errUnavailable)
		return
	}
	c.Engine().Log.NewID(newID())
	c.OK()
}

func cmdDebugReload(c *engine.Ctx, reload func(ReloadOptions) error) {
	o := ReloadOptions{Save: true, Flush: true}
	for i := 2; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "MERGE"):
			o.Merge = true
		case c.ArgIs(i, "NOFLUSH"):
			o.Flush = false
		case c.ArgIs(i, "NOSAVE"):
			o.Save = false
		default:
			c.Err(errReloadOptions)
			return
		}
	}
	switch {
	case reload == nil || c.InExec(): // inside a transaction the locks that a load needs are taken already
		c.Err(errUnavailable)
	default:
		if err := reload(o); err != nil {
			c.Err("ERR " + err.Error())
			return
		}
		c.OK()
	}
}

func cmdDebugLoadFile(c *engine.Ctx, reload func() error) {
	if reload == nil || c.InExec() { // inside a transaction the locks that a load needs are taken already
		c.Err(errUnavailable)
		return
	}
	if err := reload(); err != nil {
		c.Err("ERR Error trying to load the AOF files, check server logs: " + err.Error())
		return
	}
	c.OK()
}

// cmdDebugSlowFile makes every write of the append-only file wait for so many microseconds before.
func cmdDebugSlowFile(c *engine.Ctx, slow func(time.Duration)) {
	n, ok := c.Int(2)
	if !ok {
		return
	}
	if slow != nil {
		slow(time.Duration(n) * time.Microsecond)
	}
	c.OK()
}

// cmdDebugPopulate makes keys that are not logged, so replicas do not get them.
func cmdDebugPopulate(c *engine.Ctx) {
	count, ok := c.IntBetween(2, 0, math.MaxInt64, errNotPositive)
	if !ok {
		return
	}
	size := int64(0)
	if len(c.Args) == 5 {
		if size, ok = c.IntBetween(4, 0, c.Engine().Settings.MaxBulk.Load(), errNotPositive); !ok {
			return
		}
	}
	prefix := []byte("key")
	if len(c.Args) > 3 {
		prefix = c.Args[3]
	}
	var value []byte
	for i := range count {
		name := strconv.AppendInt(append(bytes.Clone(prefix), ':'), i, 10)
		value = strconv.AppendInt(append(value[:0], "value:"...), i, 10)
		if size > 0 {
			text := value
			value = make([]byte, size)
			copy(value, text)
		}
		populateOne(c, name, value)
	}
	c.OK()
}

func populateOne(c *engine.Ctx, name, value []byte) {
	key := c.Engine().Key(name)
	c.WithShard(keyspace.ShardOf(key.Slot), func(s *engine.Shard) bool {
		if _, taken := s.Part.Find(c.DB(), &key); !taken {
			s.Part.SetString(c.DB(), &key, value, 0)
			s.TouchAll(c.DB(), func(_ int, watched string) bool { return watched == string(name) })
		}
		return true
	})
}

func cmdDebugStringMatch(c *engine.Ctx) { c.Bool01(glob.Match(c.Args[2], c.Args[3], false)) }

// cmdDebugPlainElements sets the length from which elements of quicklists lie in nodes as they are.
func cmdDebugPlainElements(c *engine.Ctx) {
	const most = 4<<30 - 1<<20
	n, ok := num.ParseMemory(c.Args[2])
	switch {
	case !ok || n > most:
		c.Err("ERR argument must be a memory value bigger than 1 and smaller than 4gb")
		return
	case n == 0:
		n = list.PlainMin
	}
	c.Engine().Settings.Encoding.ListPlain.Store(n)
	c.OK()
}

// cmdDebugError replies the given text as an error, code and all.
func cmdDebugError(c *engine.Ctx) {
	c.Append(func(dst []byte, _ resp.Version) []byte { return resp.AppendError(dst, string(c.Args[2])) })
}

func cmdDebugLog(c *engine.Ctx, write func(string)) {
	if write != nil {
		write("DEBUG LOG: " + string(c.Args[2]))
	}
	c.OK()
}

// cmdDebugPanic stops the node the hard way.
func cmdDebugPanic(c *engine.Ctx) {
	panic(fmt.Sprintf("DEBUG %s was called at %d", bytes.ToUpper(c.Args[1]), c.Now))
}

// cmdDebugSegfault stops the node as a signal does.
func cmdDebugSegfault(c *engine.Ctx, send func()) {
	if send == nil {
		cmdDebugPanic(c)
	}
	send()
	c.OK() // until the signal comes
}

func cmdDebugHelp(c *engine.Ctx) {
	c.Help(
		"AOF-FLUSH-SLEEP <microseconds>",
		"    Wait before every write of the append-only file.",
		"ASSERT",
		"    Stop the server as a broken invariant does.",
		"CHANGE-REPL-ID",
		"    Begin a replication history that no replica can continue.",
		"CLUSTERLINK KILL <to|from|all> <node-id>",
		"    Break the links of the cluster bus to a node, from it, or both.",
		"CONFIG-REWRITE-FORCE-ALL",
		"    Write every directive into the configuration file, those with their default too.",
		"DIGEST",
		"    Show a hash of the whole data set.",
		"DIGEST-VALUE <key> [<key> ...]",
		"    Show hashes of the values of keys.",
		"DROP-CLUSTER-PACKET-FILTER <type>",
		"    Drop packets of the cluster bus that have a type; -1 drops none.",
		"ERROR <string>",
		"    Reply with an error.",
		"JMAP",
		"    Do nothing: there is no such map.",
		"LOADAOF",
		"    Empty the data set and replay the append-only file.",
		"LOG <message>",
		"    Write to the log of the server.",
		"OBJECT <key>",
		"    Show how <key> is held.",
		"PANIC",
		"    Stop the server with a panic.",
		"PAUSE-CRON <0|1>",
		"    Stop what the server does by itself: expiry, eviction, limits that time brings.",
		"POPULATE <count> [<prefix>] [<size>]",
		"    Make <count> keys <prefix>:<number>, of <size> bytes each. Replicas do not get them.",
		"PROTOCOL <type>",
		"    Reply with an example of a type: string, integer, double, bignum, null, array, set, map,",
		"    attrib, push, verbatim, true or false.",
		"QUICKLIST-PACKED-THRESHOLD <size>",
		"    From which size on an element of a list lies in a node of its own as it is; 0 is 1gb.",
		"RELOAD [MERGE] [NOFLUSH] [NOSAVE]",
		"    Save the data set and load it again: over what is there (NOFLUSH, and MERGE where keys",
		"    are the same), from the file as it is (NOSAVE).",
		"REPLYBUFFER RESIZING <0|1>",
		"    Do nothing: connections have no reply buffers of their own.",
		"SEGFAULT",
		"    Stop the server with the signal of a wrong access to memory.",
		"SET-ACTIVE-EXPIRE <0|1>",
		"    Whether expired keys are removed before anybody asks for them.",
		"SET-DISABLE-DENY-SCRIPTS <0|1>",
		"    Whether scripts may call commands that are not for scripts.",
		"SET-SKIP-CHECKSUM-VALIDATION <0|1>",
		"    Whether RESTORE takes payloads whose checksum is wrong.",
		"SLEEP <seconds>",
		"    Stop serving for some time. Decimals allowed.",
		"STRINGMATCH-LEN <pattern> <string>",
		"    Tell whether a glob pattern matches a string.",
	)
}
