package acl

import (
	"bytes"
	"slices"

	"github.com/covey-db/covey/internal/glob"
	"github.com/covey-db/covey/internal/spec"
)

// This file holds the question whether a user may run a command.

// Reason says why something is refused. Of several selectors the one counts that comes closest: its reason is the greatest.
type Reason uint8

// The reasons.
const (
	Allowed Reason = iota
	DeniedCommand
	DeniedKey
	DeniedChannel
	DeniedAuth // nobody logged in: only in the log
)

// Verdict is the answer to Check.
type Verdict struct {
	Reason Reason
	Pos    int // of the argument that is the reason: a key or channel; 0 for the command
}

// Check says whether the user may run a command line. keys is memory for positions; the grown slice is not kept. It
// allocates only if keys is too small.
func (u *User) Check(row *spec.Row, args [][]byte, keys []spec.KeyRef) Verdict {
	if u.free {
		return Verdict{}
	}
	worst := Verdict{Reason: DeniedCommand}
	known := false
	for s := range u.selectors {
		if !s.allKeys && !known && row.HasKeys() {
			keys = keysOf(row, args, keys[:0])
			known = true
		}
		v := s.check(row, args, keys)
		if v.Reason == Allowed {
			return v
		}
		if v.Reason > worst.Reason || v.Reason == worst.Reason && v.Pos > worst.Pos {
			worst = v
		}
	}
	return worst
}

// keysOf is where the keys of a command line are. Where options contradict each other (GEORADIUS with STORE twice) those that
// are named and those that the command is going to use both count.
func keysOf(row *spec.Row, args [][]byte, dst []spec.KeyRef) []spec.KeyRef {
	dst, _ = row.Keys(args, dst)
	if row.Flags&spec.MovableKeys == 0 {
		return dst
	}
	named := len(dst)
	dst = row.RouteKeys(args, dst)
	kept := named
	for _, k := range dst[named:] {
		if !slices.ContainsFunc(dst[:named], func(other spec.KeyRef) bool { return other.Pos == k.Pos }) {
			dst[kept] = spec.KeyRef{Pos: k.Pos, Flags: spec.KeyRW | spec.KeyAccess | spec.KeyUpdate}
			kept++
		}
	}
	return dst[:kept]
}

func (s *selector) check(row *spec.Row, args [][]byte, keys []spec.KeyRef) Verdict {
	if !s.allowsCommand(row, args) {
		return Verdict{Reason: DeniedCommand}
	}
	if !s.allKeys && row.HasKeys() {
		for _, k := range keys {
			if k.Flags&spec.KeyNotKey == 0 && !s.allowsKey(args[k.Pos], useOf(k.Flags)) {
				return Verdict{DeniedKey, k.Pos}
			}
		}
	}
	c := &row.Channels
	if !s.allChannels && c.Flags&(spec.ChannelSubscribe|spec.ChannelPublish) != 0 {
		for i, name := range row.ChannelArgs(args) {
			if !s.allowsChannel(name, c.Flags&spec.ChannelPattern != 0) {
				return Verdict{DeniedChannel, c.First + i}
			}
		}
	}
	return Verdict{}
}

func (s *selector) allowsCommand(row *spec.Row, args [][]byte) bool {
	if s.everyCommand() || row.Flags&spec.NoAuth != 0 || s.has(row.ID) {
		return true
	}
	if len(args) < 2 {
		return false
	}
	for _, arg := range s.firstArgs[row.ID] {
		if bytes.EqualFold(args[1], []byte(arg)) {
			return true
		}
	}
	return false
}

func (s *selector) allowsKey(key []byte, need use) bool {
	if s.allKeys {
		return true
	}
	for _, p := range s.keys {
		if p.use&need == need && glob.Match([]byte(p.pattern), key, false) {
			return true
		}
	}
	return false
}

// allowsChannel checks a channel. A pattern to subscribe to must be one of the user's patterns to the letter.
func (s *selector) allowsChannel(name []byte, pattern bool) bool {
	if s.allChannels {
		return true
	}
	for _, p := range s.channels {
		if pattern && p == string(name) || !pattern && glob.Match([]byte(p), name, false) {
			return true
		}
	}
	return false
}

// CheckChannel says whether one selector opens a channel, or a pattern of channels.
func (u *User) CheckChannel(name []byte, pattern bool) bool {
	for s := range u.selectors {
		if s.allowsChannel(name, pattern) {
			return true
		}
	}
	return false
}

// CheckAllKeys says whether one selector allows a command line and opens all keys for such use: what SORT needs for BY and
// GET, whose keys nobody knows beforehand.
func (u *User) CheckAllKeys(row *spec.Row, args [][]byte, flags spec.KeyFlag) bool {
	keys := keysOf(row, args, nil)
	for s := range u.selectors {
		if s.check(row, args, keys).Reason == Allowed && s.opensAllKeys(useOf(flags)) {
			return true
		}
	}
	return false
}

func (s *selector) opensAllKeys(need use) bool {
	return s.allKeys || slices.ContainsFunc(s.keys, func(p keyPattern) bool { return p.pattern == "*" && p.use&need == need })
}

// KeepsChannels says whether somebody who could use certain channels as the old user can use them all as this one: what
// decides whether subscribers must be looked at.
func (u *User) KeepsChannels(old *User) bool {
	var open []string
	for s := range u.selectors {
		if s.allChannels {
			return true
		}
		open = append(open, s.channels...)
	}
	for s := range old.selectors {
		if s.allChannels {
			return false
		}
		for _, c := range s.channels {
			if !slices.Contains(open, c) {
				return false
			}
		}
	}
	return true
}
