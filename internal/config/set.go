// CONFIG SET.

package config

import (
	"slices"
	"strings"
)

// Caller says under which circumstances CONFIG SET is called.
type Caller struct {
	Local   bool // over a Unix socket or the loopback interface
	Loading bool // the dataset is being loaded
}

const (
	replySyntax  ReplyError = "ERR syntax error"
	replyLoading ReplyError = "LOADING Redis is loading the dataset in memory"
)

func replyUnknown(name string) error {
	return ReplyError("ERR Unknown option or number of arguments for CONFIG SET - '" + name + "'")
}

func replyFailed(name, why string) error {
	text := "ERR CONFIG SET failed (possibly related to argument '" + name + "')"
	if why != "" {
		text += " - " + why
	}
	return ReplyError(text)
}

// change is one pair of a CONFIG SET.
type change struct {
	entry
	value Value
	fresh bool // hooks must hear of it
}

// Set is CONFIG SET: names and values in turn. All of them come into force, or none. The text of the error is the
// error reply.
func (s *Store) Set(args []string, by Caller) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(args)%2 != 0 {
		return replySyntax
	}
	old := s.now.Load()
	changes, err := allowed(args, old, by)
	if err != nil {
		return err
	}
	values := slices.Clone(old.values)
	for i := range changes {
		c := &changes[i]
		d := &table().rows[c.at]
		before := values[c.at]
		if c.value, err = d.parse(d.wordsOfSet(args[2*i+1]), before); err != nil {
			return replyFailed(c.name, err.Error())
		}
		values[c.at] = c.value
		c.fresh = d.Has(Volatile) || !equal(before, c.value)
	}
	next := &Snapshot{values: values}
	s.now.Store(next)
	return s.applyLocked(changes, old, next)
}

// allowed finds the directives and tells whether they may be set at all. What is wrong first is what is said.
func allowed(args []string, now *Snapshot, by Caller) ([]change, error) {
	allow := now.Int("enable-protected-configs")
	mayProtected := allow == AllowAll || allow == AllowLocal && by.Local
	var changes []change
	for i := 0; i < len(args); i += 2 {
		e, known := table().find(args[i])
		if !known {
			return nil, replyUnknown(args[i])
		}
		d := &table().rows[e.at]
		switch {
		case d.Has(Immutable):
			return nil, replyFailed(args[i], string(setImmutable))
		case d.Has(Protected) && !mayProtected:
			return nil, replyFailed(args[i], string(setProtected))
		case d.Has(DenyLoading) && by.Loading:
			return nil, replyLoading
		case slices.ContainsFunc(changes, func(c change) bool { return c.name == e.name }):
			return nil, replyFailed(args[i], string(setTwice))
		}
		changes = append(changes, change{entry: e})
	}
	return changes, nil
}

// applyLocked calls the hooks of what changed. If one fails, the old values come back and those hooks that were called are
// called again.
func (s *Store) applyLocked(changes []change, old, next *Snapshot) error {
	var called []*hook
	for _, c := range changes {
		if !c.fresh {
			continue
		}
		for _, h := range s.mu.hooks[c.at] {
			if slices.Contains(called, h) {
				continue
			}
			called = append(called, h)
			if err := h.apply(*next); err != nil {
				return s.revertLocked(called, old, replyFailed(c.name, osText(err)))
			}
		}
	}
	return nil
}

// revertLocked puts the old values in force. What hooks say to it is joined to the error, for the log: the reply is why.
func (s *Store) revertLocked(called []*hook, old *Snapshot, why error) error {
	s.now.Store(old)
	failed := &RevertError{Reply: why}
	for _, h := range called {
		if err := h.apply(*old); err != nil {
			failed.Errors = append(failed.Errors, err)
		}
	}
	if failed.Errors == nil {
		return why
	}
	return failed
}

// wordsOfSet makes arguments of the one that CONFIG SET has: split at every single blank, without quotes.
func (d *Directive) wordsOfSet(arg string) []string {
	switch {
	case !d.multi():
		return []string{arg}
	case arg == "":
		return nil
	}
	return strings.Split(arg, " ")
}
