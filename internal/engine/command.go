package engine

import (
	"github.com/covey-db/covey/internal/observe"
	"github.com/covey-db/covey/internal/spec"
)

// Scope says which locks a command needs.
type Scope uint8

const (
	ScopeKeys  Scope = iota // the shards of its keys; none for a command without keys
	ScopeWhole              // a command without keys that reads or changes the data: EXEC takes all shards for it
)

// Handler is what a command does, joined with its row by name.
type Handler struct {
	Run   func(*Ctx)
	Scope Scope
	// WholeIf says whether the command, which has keys, needs all other keys too with such arguments. It may be nil.
	WholeIf func(args [][]byte) bool
	// Flags tells the flags of a command that depend on its arguments: what a script says of itself. It may be nil.
	Flags func(args [][]byte, row spec.Flag) spec.Flag
	// Count is which argument says how many elements of the value of its first key the command takes, 0 for none. It may be
	// missing.
	Count int
	// Aside says that Run may call Ctx.Aside.
	Aside bool
}

// Command is a row joined with its handler.
type Command struct {
	*spec.Row
	run          func(*Ctx)
	scope        Scope
	wholeIf      func(args [][]byte) bool
	flagsOf      func(args [][]byte, row spec.Flag) spec.Flag
	simple       int  // argument index of the only key, 0 when keys are found by the row's key specs
	member       int  // argument index of a member or field that is looked for in the value of the key, 0 when there is none
	keyed        bool // has keys at all
	write        bool
	readonly     bool
	denyOOM      bool
	fast         bool
	mayReplicate bool
	shardPubSub  bool // its keys are channels
	forReplicas  bool // it changes no data: the append-only file does without it
	aside        bool // waits for others who take shard locks
	edits        bool // may change a value in place: it waits while a snapshot copies the value
	runsCode     bool // a script or function: MONITOR shows it before what it calls
	weighty      bool // it may take long, as its row has it
	count        int  // see Handler.Count
}

// Register binds rows to handlers, once, before the first session. A handler without a row is a mistake of ours; its row need
// not be in the table any more, because rename-command takes commands away.
func (e *Engine) Register(handlers map[string]Handler) {
	e.panicUnjoined(handlers)
	e.table = e.table.Restrict(func(r *spec.Row) bool {
		_, ok := handlers[r.Full]
		return ok || len(r.Subs) > 0 && anySub(r, handlers)
	})
	e.commands = make([]*Command, e.table.IDs())
	e.workers.durations = make([]*observe.Histogram, len(e.commands))
	for r := range e.table.All() {
		e.commands[r.ID] = newCommand(r, handlers[r.Full])
	}
}

func anySub(r *spec.Row, handlers map[string]Handler) bool {
	for _, sub := range r.Subs {
		if _, ok := handlers[sub.Full]; ok {
			return true
		}
	}
	return false
}

func (e *Engine) panicUnjoined(handlers map[string]Handler) {
	rows := make(map[string]bool, e.table.IDs())
	for id := range e.table.IDs() {
		if r := e.table.ByID(id); r != nil {
			rows[r.Full] = true
		}
	}
	for name := range handlers {
		if !rows[name] {
			panic("engine: handler without a command row: " + name)
		}
	}
}

func newCommand(r *spec.Row, h Handler) *Command {
	c := &Command{
		Row:          r,
		run:          h.Run,
		scope:        h.Scope,
		count:        h.Count,
		wholeIf:      h.WholeIf,
		flagsOf:      h.Flags,
		aside:        h.Aside,
		keyed:        r.HasKeys(),
		write:        r.Flags&spec.Write != 0,
		readonly:     r.Flags&spec.ReadOnly != 0,
		denyOOM:      r.Flags&spec.DenyOOM != 0,
		fast:         r.Flags&spec.Fast != 0,
		mayReplicate: r.Flags&spec.MayReplicate != 0,
		shardPubSub:  r.Flags&spec.PubSub != 0 && len(r.KeySpecs) > 0,
	}
	c.keyed = c.keyed || c.shardPubSub
	c.edits, c.weighty = editsInPlace(r), mayTakeLong(r)
	switch r.Full {
	case "ping", "replconf", "publish", "spublish":
		c.forReplicas = true
	case "eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro":
		c.runsCode = true
	}
	if r.FirstKey > 0 && r.FirstKey == r.LastKey && len(r.KeySpecs) == 1 && r.Flags&spec.MovableKeys == 0 {
		c.simple = r.FirstKey
		c.member = memberOf(r)
	}
	return c
}

// Command returns the joined command of a row.
func (e *Engine) Command(r *spec.Row) *Command { return e.commands[r.ID] }

// Lookup finds a command by the first one or two arguments; nil with the container row when the sub-command is unknown.
func (e *Engine) lookup(args [][]byte) (cmd *Command, container *spec.Row) {
	row := e.table.Lookup(args[0])
	if row == nil {
		return nil, nil
	}
	if len(row.Subs) == 0 || len(args) < 2 {
		return e.commands[row.ID], nil
	}
	sub := row.Sub(args[1])
	if sub == nil {
		return nil, row
	}
	return e.commands[sub.ID], nil
}
