// Package spec is the command table: one row for each command and subcommand, with what the rest of the server has to know
// about it before it runs: arity, flags, ACL categories, where the keys are, and what COMMAND DOCS says.
//
// The rows are text files under data, embedded and parsed by Load; parse.go describes the format. A Table and its rows never
// change once they are made, so any number of goroutines and nodes may share them. Restrict and Rename return new tables.
package spec

import (
	"errors"
	"iter"
	"slices"
	"strings"
)

// Row is one command or subcommand. Rows are shared: treat every field as read-only.
type Row struct {
	Name string // "get"; of a subcommand only its own part
	Full string // "config|get"; the same as Name for a command
	ID   int    // position among all rows and subrows of the table that Load made; the same in all tables made from it

	Arity      int // number of arguments with the name; negative: at least so many
	Flags      Flag
	Categories Category // all of them, also those that follow from the flags

	FirstKey, LastKey, Step int // the old description of where keys are, as COMMAND tells it; all 0 if there is none
	KeySpecs                []KeySpec
	Channels                ChannelSpec

	Group           string // "string", "sorted-set", ...
	Since           string // version of Redis that had it first
	Summary         string
	Complexity      string // empty: not told
	DeprecatedSince string // empty: not deprecated
	ReplacedBy      string
	System          bool // meant for servers, not for users
	History         []Change
	Tips            []string // hints to proxies and clients
	Args            []Arg

	Parent *Row   // nil for a command
	Subs   []*Row // in the order of their names

	finder  finder
	noSpecs bool // the key specs do not suffice: ask the finder at once
	subs    index
}

// Change is one entry of a command's history.
type Change struct {
	Since string
	Text  string
}

// Arg is one argument of a command as COMMAND DOCS describes it.
type Arg struct {
	Name            string
	Type            ArgType
	Flags           ArgFlag
	Token           string // the word before the value; counts if ArgHasToken is set
	KeySpec         int    // index into KeySpecs, or -1
	Display         string // what to show for the value; the name unless told otherwise; empty for oneof and block
	Since           string
	DeprecatedSince string
	Args            []Arg // parts of a oneof or a block
}

// ChannelSpec tells which arguments are pub/sub channels.
type ChannelSpec struct {
	Flags ChannelFlag // 0: the command has no channels
	First int         // position of the first one
	Count int         // how many there are, -1 for all that follow
}

// Table is a set of commands.
type Table struct {
	rows  []*Row // commands by name
	byID  []*Row // every row at its ID; nil where Restrict took one away
	names index  // commands under the names clients call them
}

// The mistakes that Rename can find.
var (
	ErrNoSuchCommand = errors.New("no such command")
	ErrNameTaken     = errors.New("target command name already exists")
)

// Lookup finds a command by its name in any case, or returns nil. It allocates nothing.
func (t *Table) Lookup(name []byte) *Row { return t.names.find(name) }

// Sub finds a subcommand by its name in any case, or returns nil. It allocates nothing.
func (r *Row) Sub(name []byte) *Row {
	if len(r.Subs) == 0 {
		return nil
	}
	return r.subs.find(name)
}

// Resolve finds the row that a full command line runs. base is what its first argument names; row is base or, when base has
// subcommands and there is a second argument, the subcommand that it names. Either is nil if there is no such thing.
func (t *Table) Resolve(args [][]byte) (row, base *Row) {
	if len(args) == 0 {
		return nil, nil
	}
	base = t.Lookup(args[0])
	if base == nil || len(base.Subs) == 0 || len(args) == 1 {
		return base, base
	}
	return base.Sub(args[1]), base
}

// Find finds a row by its full name ("get", "config|get") in any case, or returns nil.
func (t *Table) Find(full []byte) *Row {
	for i, c := range full {
		if c != '|' {
			continue
		}
		if base := t.Lookup(full[:i]); base != nil {
			return base.Sub(full[i+1:])
		}
		return nil
	}
	return t.Lookup(full)
}

// Rows returns the commands by name, without subcommands. The slice is the table's: do not change it.
func (t *Table) Rows() []*Row { return t.rows }

// All visits every command, each followed by its subcommands.
func (t *Table) All() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for _, row := range t.rows {
			if !yield(row) {
				return
			}
			for _, sub := range row.Subs {
				if !yield(sub) {
					return
				}
			}
		}
	}
}

// ByID returns the row with an ID, or nil if Restrict took it away.
func (t *Table) ByID(id int) *Row {
	if id < 0 || id >= len(t.byID) {
		return nil
	}
	return t.byID[id]
}

// IDs is the number of IDs: all are below it, also in tables made by Restrict and Rename.
func (t *Table) IDs() int { return len(t.byID) }

// AcceptsArity says whether a command line of n arguments, counting the name, satisfies the arity.
func (r *Row) AcceptsArity(n int) bool {
	if r.Arity >= 0 {
		return n == r.Arity
	}
	return n >= -r.Arity
}

// Restrict returns a table of those rows for which keep is true. A command without a place of its own stays when one of its
// subcommands does. IDs do not change; rows whose subcommands changed are copies.
func (t *Table) Restrict(keep func(*Row) bool) *Table {
	out := &Table{byID: make([]*Row, len(t.byID))}
	for _, row := range t.rows {
		var subs []*Row
		for _, sub := range row.Subs {
			if keep(sub) {
				subs = append(subs, sub)
			}
		}
		if len(subs) == 0 && !keep(row) {
			continue
		}
		if len(subs) != len(row.Subs) {
			row = row.withSubs(subs)
		}
		out.rows = append(out.rows, row)
		out.byID[row.ID] = row
		for _, sub := range row.Subs {
			out.byID[sub.ID] = sub
		}
	}
	out.names = t.names.restricted(out.byID)
	return out
}

// withSubs copies a command with other subcommands, which are copied too since each points to its command.
func (r *Row) withSubs(subs []*Row) *Row {
	out := *r
	out.Subs = make([]*Row, len(subs))
	for i, sub := range subs {
		kept := *sub
		kept.Parent = &out
		out.Subs[i] = &kept
	}
	out.subs = indexByName(out.Subs)
	return &out
}

// Rename returns a table in which clients call a command by another name, or not at all if the new name is empty. The row
// keeps its own name, which is what ACL rules and COMMAND go by.
func (t *Table) Rename(from, to string) (*Table, error) {
	row := t.Lookup([]byte(from))
	if row == nil {
		return nil, ErrNoSuchCommand
	}
	to = strings.ToLower(to)
	if to != "" && t.Lookup([]byte(to)) != nil {
		return nil, ErrNameTaken
	}
	out := &Table{rows: t.rows, byID: t.byID}
	names := slices.Clone(t.names.entries)
	names = slices.DeleteFunc(names, func(e entry) bool { return equalFold([]byte(from), e.name) })
	if to != "" {
		names = append(names, newEntry(to, row))
	} else {
		out.rows = slices.DeleteFunc(slices.Clone(t.rows), func(r *Row) bool { return r == row })
	}
	out.names = newIndex(names)
	return out, nil
}
