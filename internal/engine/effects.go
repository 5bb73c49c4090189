package engine

import (
	"slices"

	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
)

// An effect is what replicas and the append-only file must repeat to reach the same data: deterministic commands. Handlers
// whose command is deterministic do nothing: the command itself is its effect when it changed something.

// effects are the encoded effects of the command or transaction that runs; they belong to the worker.
type effects struct {
	buf   []byte
	big   []bigArgument // arguments that are not in buf
	apart int           // bytes of those
	count int
	first int // database of the first effect
	last  int // database of the last effect

	replicasOnly []span // parts of all this that the append-only file does without
}

// bigArgument is an argument of the command under way that goes to the log from where it lies.
type bigArgument struct {
	at    int // in effects.buf, before what follows it
	bytes []byte
}

// bigArgumentMin is from which size on an argument is not copied into effects.buf. The block of the log that gets it is
// made for it then.
const bigArgumentMin = logBlockBytes

func (fx *effects) size() int { return len(fx.buf) + fx.apart }

// pieces calls fn with all bytes in their order.
func (fx *effects) pieces(fn func([]byte)) {
	at := 0
	for _, a := range fx.big {
		fn(fx.buf[at:a.at])
		fn(a.bytes)
		at = a.at
	}
	fn(fx.buf[at:])
}

// empty forgets everything.
func (fx *effects) empty() {
	fx.count, fx.buf = 0, emptied(fx.buf)
	if fx.apart > 0 {
		clear(fx.big)
		fx.big, fx.apart = fx.big[:0], 0
	}
}

// audience is who repeats an effect. A script can choose.
type audience uint8

const (
	everybody audience = iota
	replicasAlone
	fileAlone
	nobody
)

// beginEffects starts collecting; the shards are locked, so whether the log is on cannot change until commitEffects.
func (c *Ctx) beginEffects() {
	if c.inExec {
		return
	}
	c.decideLogging()
	c.W.effects.empty()
	c.W.effects.replicasOnly = c.W.effects.replicasOnly[:0]
}

// decideLogging finds out whether effects are wanted. A replica's own writes are not its primary's history.
func (c *Ctx) decideLogging() {
	c.logging = c.e.Log.on.Load() && !c.S.primaryLink && !c.e.Role.IsReplica()
}

// Propagate adds an effect in place of the command itself.
func (c *Ctx) Propagate(args ...[]byte) {
	c.explicit = true
	c.addEffect(args)
}

// propagateToReplicas is Propagate for what only replicas repeat: a message changes no data.
func (c *Ctx) propagateToReplicas(args ...[]byte) {
	c.explicit = true
	switch c.audience {
	case everybody:
		c.audience = replicasAlone
		c.addEffect(args)
		c.audience = everybody
	case replicasAlone:
		c.addEffect(args)
	}
}

// PropagateNothing says that the command itself is not its effect: what Propagate adds is all.
func (c *Ctx) PropagateNothing() { c.explicit = true }

// Logging says whether effects are wanted at all; a handler that has many may ask before it makes them.
func (c *Ctx) Logging() bool { return c.logging }

func (c *Ctx) addEffect(args [][]byte) {
	if !c.logging || c.audience == fileAlone && !c.e.Log.hasFile() {
		return
	}
	fx := &c.W.effects
	if fx.count == 0 {
		fx.first = c.S.db
	} else if fx.last != c.S.db {
		fx.buf = appendSelect(fx.buf, c.S.db)
	}
	fx.last = c.S.db
	fx.count++
	from := fx.size()
	if c.audience == fileAlone {
		fx.buf = append(fx.buf, wordsNothing...)
		fx.replicasOnly = append(fx.replicasOnly, span{from, fx.size(), resp.AppendCommand(nil, args...)})
		return
	}
	c.encodeEffect(args)
	if c.audience == replicasAlone {
		fx.replicasOnly = append(fx.replicasOnly, span{from: from, to: fx.size()})
	}
}

// encodeEffect adds a command to the effects.
func (c *Ctx) encodeEffect(args [][]byte) {
	fx := &c.W.effects
	fx.buf = resp.AppendArray(fx.buf, len(args))
	for _, a := range args {
		i := -1
		if len(a) >= bigArgumentMin && !c.inExec {
			i = c.argumentAt(a)
		}
		if i < 0 {
			fx.buf = resp.AppendBulk(fx.buf, a)
			continue
		}
		fx.buf = resp.AppendBulkLen(fx.buf, len(a))
		fx.big = append(fx.big, bigArgument{len(fx.buf), c.Args[i]})
		fx.apart += len(a)
		fx.buf = append(fx.buf, "\r\n"...)
	}
}

// argumentAt says which argument of the command under way b is, -1 for none. Those stay as they are until the effects are in
// the log.
func (c *Ctx) argumentAt(b []byte) int {
	return slices.IndexFunc(c.Args, func(a []byte) bool { return len(a) == len(b) && &a[0] == &b[0] })
}

// wordsNothing stands in the log where an effect is for the append-only file alone: offsets count for both.
var wordsNothing = []byte("*1\r\n$4\r\nPING\r\n")

func appendSelect(dst []byte, db int) []byte {
	var digits [20]byte
	return resp.AppendCommand(dst, []byte("SELECT"), num.AppendInt(digits[:0], int64(db)))
}

var (
	wordDel    = []byte("DEL")
	wordUnlink = []byte("UNLINK")
)

// AppendRemoval encodes the removal of a key for the log, with the database it is in.
func AppendRemoval(dst []byte, db int, key []byte) []byte {
	return resp.AppendCommand(appendSelect(dst, db), wordDel, key)
}

// logDelete adds the removal of a key that was due.
func (c *Ctx) logDelete(key []byte) { c.logRemoval(key, c.e.Settings.LazyExpire.Load()) }

// logRemoval adds the removal of a key in the form that frees it at once or lazily.
func (c *Ctx) logRemoval(key []byte, lazy bool) {
	word := wordDel
	if lazy {
		word = wordUnlink
	}
	pair := [2][]byte{word, key}
	c.addEffect(pair[:])
}

// endCommand adds the command itself when it changed something and gave no effect of its own.
func (c *Ctx) endCommand() {
	if c.dirty > 0 {
		c.e.Stats.Dirty.Add(int64(c.dirty))
		if c.e.Role.IsReplica() && !c.S.primaryLink {
			c.noteOwn()
		}
		if !c.explicit {
			c.addEffect(c.repeatable())
		}
	}
	if len(c.edited) > 0 {
		clear(c.edited)
		c.edited = c.edited[:0]
	}
}

// ReplaceArg has whoever repeats the command see arg in place of argument i: the log, and the command itself when it blocks.
// c.Args stay what the client sent, for MONITOR and SLOWLOG. arg must not change until the handler has returned.
func (c *Ctx) ReplaceArg(i int, arg []byte) {
	if len(c.edited) == 0 {
		c.edited = append(c.edited, c.Args...)
	}
	c.edited[i] = arg
}

// repeatable is the command with what ReplaceArg said.
func (c *Ctx) repeatable() [][]byte {
	if len(c.edited) > 0 {
		return c.edited
	}
	return c.Args
}

// commitEffects appends what was collected as one contiguous block, and serves who waited for it; the shards are still
// locked.
func (c *Ctx) commitEffects() {
	if c.inExec {
		return
	}
	c.logEffects()
	if len(c.W.ready.queues) > 0 {
		c.serveReady()
	}
}

// logEffects appends what was collected to the log.
func (c *Ctx) logEffects() {
	if c.S.primaryLink {
		c.commitRaw()
	} else if fx := &c.W.effects; fx.count > 0 {
		at := c.e.Log.append(fx)
		c.W.logged = true
		fx.empty()
		if c.rerun {
			c.wroteAt = at // the session belongs to another thread
		} else {
			c.S.written = at
		}
	}
}

// commitRaw passes a primary's stream on as it came: replicas of a replica count the same offsets.
func (c *Ctx) commitRaw() {
	if len(c.raw)+len(c.rawBig) == 0 || c.S.replay {
		return
	}
	c.e.Log.appendRaw(c.raw, c.rawBig, c.S.db, c.Cmd != nil && c.Cmd.forReplicas)
	c.W.logged = true
	c.raw, c.rawBig = emptied(c.raw), nil
}

// keepRaw keeps a command of the stream of a primary until it is passed on. A big one stays where it lies if nothing else can
// come before that.
func (c *Ctx) keepRaw(b []byte) {
	if len(b) >= bigArgumentMin && c.S.multi == nil {
		c.rawBig = b
		return
	}
	c.raw = append(c.raw, b...)
}

// settleRaw copies what keepRaw left where it lies, if it has not been passed on.
func (c *Ctx) settleRaw() {
	if c.rawBig != nil {
		c.raw = append(c.raw, c.rawBig...)
		c.rawBig = nil
	}
}

// effectsKept is how large a buffer of effects may be that is kept for the next ones.
const effectsKept = 1 << 20

// emptied is the buffer b for what comes next, unless it grew too large for that.
func emptied(b []byte) []byte {
	if cap(b) > effectsKept {
		return nil
	}
	return b[:0]
}

func appendInt(dst []byte, n int64) []byte { return num.AppendInt(dst, n) }
