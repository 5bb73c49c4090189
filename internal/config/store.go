// The values in force, and who wants to know when they change.

package config

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/covey-db/covey/internal/invariant"
)

// Store holds the values in force. All its methods may be called by any goroutine, but hooks must not change the store.
//
// Its accessors look a name up in a map: good enough where a connection is made or a file is written. What commands read
// all the time, hooks copy to where they read it.
type Store struct {
	now atomic.Pointer[Snapshot] // the values; a change replaces them

	included map[string]bool // names of directives that included files set; does not change
	userSeen map[string]bool // names of users that included files define; does not change

	mu struct { // hooks run while it is held, so it comes before every lock that a hook takes
		sync.Mutex
		hooks map[int][]*hook // by row
	}
}

// hook is told of changes.
type hook struct {
	rows  []int
	apply func(Snapshot) error
}

// NewStore returns a store with what was loaded.
func NewStore(l *Loaded) *Store {
	s := &Store{included: maps.Clone(l.included), userSeen: maps.Clone(l.userSeen)}
	s.mu.hooks = map[int][]*hook{}
	s.now.Store(&Snapshot{values: slices.Clone(l.values)})
	return s
}

// Hook has apply called when CONFIG SET changed a directive, with the value that is then in force. If it returns an error
// then CONFIG SET fails with this text and all values are as before; apply may then be called a second time, with the old
// value. It is not called for the value that the store has now.
func (s *Store) Hook(name string, apply func(Value) error) {
	s.HookAll([]string{name}, func(now Snapshot) error { return apply(now.Value(name)) })
}

// HookAll is Hook for directives that are put in force together: apply is called once however many of them changed.
func (s *Store) HookAll(names []string, apply func(Snapshot) error) {
	h := &hook{apply: apply}
	for _, name := range names {
		row := rowOf(name)
		invariant.That(table().rows[row].NoEffect == "", "the table says that "+name+" has no effect")
		h.rows = append(h.rows, row)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range h.rows {
		s.mu.hooks[row] = append(s.mu.hooks[row], h)
	}
}

// Snapshot returns all values as they are now.
func (s *Store) Snapshot() Snapshot { return *s.now.Load() }

// Value is the value of a directive; see Snapshot.Value.
func (s *Store) Value(name string) Value { return s.now.Load().Value(name) }

// Bool is the value of a yes/no directive.
func (s *Store) Bool(name string) bool { return s.now.Load().Bool(name) }

// Int is the number of a directive; see Value.Int.
func (s *Store) Int(name string) int64 { return s.now.Load().Int(name) }

// String is a value as CONFIG GET shows it: of a Text, the text.
func (s *Store) String(name string) string { return s.now.Load().String(name) }

// Strings are the addresses of bind.
func (s *Store) Strings(name string) []string { return s.now.Load().Strings(name) }

// Override sets a value that the server itself decided on, such as the file limit for maxclients or the pid file of a
// daemon: of any directive, and without calling hooks.
func (s *Store) Override(name string, args ...string) error {
	row := rowOf(name)
	d := &table().rows[row]
	if !d.multi() && len(args) != 1 {
		return badArgumentCount
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := d.parse(args, s.now.Load().values[row])
	if err != nil {
		return err
	}
	s.replace(row, v)
	return nil
}

// SetPrimary records what REPLICAOF did: the node to replicate from, or none with host "".
func (s *Store) SetPrimary(host string, port int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := Value{}
	if host != "" {
		v = primaryValue(host, port)
	}
	s.replace(rowOf("replicaof"), v)
}

// replace puts one value in force. s.mu must be held.
func (s *Store) replace(row int, v Value) {
	values := slices.Clone(s.now.Load().values)
	values[row] = v
	s.now.Store(&Snapshot{values: values})
}
