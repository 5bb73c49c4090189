package engine

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/spec"
)

// Ctx is what a handler sees of one command: its arguments, its keys under lock, the reply, and the effects it leaves in
// the log. It belongs to a worker and is reused: nothing of it may be kept after the handler returned.
type Ctx struct {
	S    *Session
	Cmd  *Command
	Args [][]byte // Args[0] is the name as the client wrote it; they point into the read buffer
	Now  clock.Millis
	W    *Worker

	e        *Engine
	seen     *seen          // what was found out about the command before its turn; nil mostly
	edited   [][]byte       // the arguments for whoever repeats the command; empty: Args
	keys     []keyspace.Key // in the order of the row's key specs
	keyRefs  []spec.KeyRef
	held     uint64 // shards locked by this command
	hold     *hold  // of the script, or of the transaction with scripts, that the command is part of
	busy     bool   // a script holds the shards for long: the command is refused
	taken    bool   // the shards are marked as taken for long
	inExec   bool   // the locks belong to EXEC, and so does the end of the effect block
	logging  bool   // effects are wanted
	explicit bool   // the handler gave the effect itself
	repeat   bool   // the handler was held by a pause: the command has to be given again
	failed   bool   // the last reply is an error
	rejected bool   // it was refused before its handler
	dirty    int    // changes made; 0 means nothing to propagate
	like     uint64 // the likeness of a command that may take long
	weighed  int64  // own time of its thread before it, in nanoseconds; see Worker.OwnTime
	asking   bool   // ASKING was sent just before
	pushed   bool   // the reply is a message, which CLIENT REPLY OFF does not keep back
	sifted   bool   // EXEC has kept back of its reply what CLIENT REPLY OFF does

	rerun        bool     // a blocked command runs again, in the place of another client's
	blockedAgain bool     // and found nothing once more
	audience     audience // who repeats the effects
	wroteAt      Offset   // end of the effects of such a command
	lateServe    bool     // it runs under locks of its own
	nobody       bool     // what changes now was changed by no client
	early        bool     // and before the command under way began
	aclKeys      [8]spec.KeyRef
	raw          []byte // the command as received, on the link to a primary
	rawBig       []byte // and its end, in the input
	input        input  // the buffer that the commands under way are in, if a value may have it
}

// Engine gives access to the kernel.
func (c *Ctx) Engine() *Engine { return c.e }

// DB is the selected database.
func (c *Ctx) DB() int { return c.S.db }

// Arg is argument i as bytes.
func (c *Ctx) Arg(i int) []byte { return c.Args[i] }

// ArgIs compares argument i with an upper-case word, ignoring case.
func (c *Ctx) ArgIs(i int, word string) bool { return FoldEqual(c.Args[i], word) }

// FoldEqual compares b with an upper-case ASCII word, ignoring case.
func FoldEqual(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i := range b {
		ch := b[i]
		if ch >= 'a' && ch <= 'z' {
			ch -= 'a' - 'A'
		}
		if ch != word[i] {
			return false
		}
	}
	return true
}

// Int reads argument i as a 64-bit integer; when it is none the error has been replied.
func (c *Ctx) Int(i int) (int64, bool) {
	n, ok := num.ParseInt(c.Args[i])
	if !ok {
		c.Err(ErrNotInteger)
	}
	return n, ok
}

// IntBetween reads argument i as an integer in a range; otherwise text has been replied.
func (c *Ctx) IntBetween(i int, low, high int64, text string) (int64, bool) {
	n, ok := num.ParseInt(c.Args[i])
	if !ok || n < low || n > high {
		c.Err(text)
		return 0, false
	}
	return n, true
}

// NumKeys is the number of keys of the command.
func (c *Ctx) NumKeys() int { return len(c.keys) }

// Key is the i-th key, in the order of the row's key specs.
func (c *Ctx) Key(i int) *keyspace.Key { return &c.keys[i] }

// Shard is the locked shard of the i-th key.
func (c *Ctx) Shard(i int) *Shard { return &c.e.shards[keyspace.ShardOf(c.keys[i].Slot)] }

// Part is the data that holds the i-th key; its shard is locked.
func (c *Ctx) Part(i int) *keyspace.Part { return c.Shard(i).Part }

// Place is where the value of the i-th key is, or would be.
func (c *Ctx) Place(i int) object.Place {
	return object.Place{Part: c.Part(i), DB: c.S.db, Key: &c.keys[i]}
}

// Proto is the protocol version of the client.
func (c *Ctx) Proto() resp.Version { return c.S.proto }

// InExec says whether the command runs inside EXEC or a script, where nothing may wait.
func (c *Ctx) InExec() bool { return c.inExec }

// InScript says whether a script calls the command.
func (c *Ctx) InScript() bool { return c.S.inScript }

// HoldsLocks says whether the command, or its transaction, holds any shard.
func (c *Ctx) HoldsLocks() bool { return c.held != 0 }

// FromPrimary says whether the command came over the link to this node's primary.
func (c *Ctx) FromPrimary() bool { return c.S.primaryLink }
