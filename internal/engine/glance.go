package engine

import (
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/resp"
)

// This file looks ahead across connections, as ahead.go does along a pipeline: when several connections have sent one command
// each, what all of them are going to need is fetched before the first one is served.

// glanceMax is the length up to which input is glanced at: a short command alone.
const glanceMax = 1 << 10

// glance is what a worker has seen of commands that wait on several connections.
type glance struct {
	input resp.Command
	count int
	list  [aheadMax]glanced
}

type glanced struct {
	key   keyspace.Key
	db    int
	write bool
}

// Glance looks at the input of a session that will be served soon: if it is one command with one key, Fetch sees to what it
// needs. It is of no use to glance at more than GlanceMost sessions.
func (w *Worker) Glance(s *Session, in []byte) {
	g := &w.glance
	if len(in) > glanceMax || g.count == len(g.list) || s.state != stateOpen || s.multi != nil {
		return
	}
	if s.parser.Whole(in, &g.input) != len(in) || len(g.input.Args) == 0 {
		return
	}
	cmd := w.e.withOneKey(g.input.Args)
	if cmd == nil {
		return
	}
	one := &g.list[g.count]
	one.key, one.db, one.write = w.e.hasher.Key(g.input.Args[cmd.simple]), s.db, cmd.write
	w.e.shardOf(&one.key).Part.WarmTable(one.db, &one.key)
	g.count++
}

// GlanceMost is how many sessions Glance keeps in mind.
const GlanceMost = aheadMax

// Fetch ends a round of Glance.
func (w *Worker) Fetch() {
	g := &w.glance
	list := g.list[:g.count]
	g.count = 0
	if len(list) < 2 {
		return // nothing would overlap
	}
	for i := range list {
		one := &list[i]
		w.e.warmCells(one.db, &one.key, one.write)
	}
	for i := range list {
		one := &list[i]
		w.e.warmRecord(one.db, &one.key)
		one.key.Bytes = nil
	}
}
