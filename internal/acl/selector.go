package acl

import (
	"maps"
	"slices"
	"strings"

	"github.com/covey-db/covey/internal/spec"
)

// This file holds the selector: a set of commands with the keys and channels they may be used with.

const idsMax = 1024 // commands and subcommands a selector can tell apart

// selector is one set of permissions.
type selector struct {
	commands [idsMax / 64]uint64 // by spec.Row.ID
	// future says that commands are allowed which nobody has heard of yet: the last word on all commands was +@all.
	future bool
	// firstArgs are the first arguments with which commands are allowed that are not allowed otherwise, in lower case.
	firstArgs map[int][]string
	// rules are the words on commands behind the last +@all or -@all; those that later ones have made idle are left out.
	rules []string

	allKeys     bool
	keys        []keyPattern // none if allKeys
	allChannels bool
	channels    []string // patterns; none if allChannels
}

func newSelector(channels bool) *selector { return &selector{allChannels: channels} }

func (s *selector) clone() *selector {
	c := *s
	c.rules, c.keys, c.channels = slices.Clone(s.rules), slices.Clone(s.keys), slices.Clone(s.channels)
	c.firstArgs = maps.Clone(s.firstArgs) // its slices only ever grow
	return &c
}

func (s *selector) has(id int) bool { return s.commands[id/64]>>(id%64)&1 != 0 }

func (s *selector) set(id int, allow bool) {
	if allow {
		s.commands[id/64] |= 1 << (id % 64)
	} else {
		s.commands[id/64] &^= 1 << (id % 64)
	}
}

// allCommands is +@all and -@all.
func (s *selector) allCommands(allow bool) {
	word := uint64(0)
	if allow {
		word = 1<<64 - 1
	}
	for i := range s.commands {
		s.commands[i] = word
	}
	s.future, s.rules, s.firstArgs = allow, nil, nil
}

// everyCommand says that nothing was taken away since all commands were allowed.
func (s *selector) everyCommand() bool { return s.future && len(s.rules) == 0 }

// command allows or refuses a command with its subcommands.
func (s *selector) command(row *spec.Row, allow bool) {
	s.set(row.ID, allow)
	delete(s.firstArgs, row.ID)
	for _, sub := range row.Subs {
		s.set(sub.ID, allow)
	}
}

// category allows or refuses all commands of a category.
func (s *selector) category(t *spec.Table, cat spec.Category, allow bool) {
	for row := range t.All() {
		if row.Categories&cat != 0 {
			s.command(row, allow)
		}
	}
}

// firstArg allows a command with one first argument.
func (s *selector) firstArg(row *spec.Row, arg string) {
	arg = strings.ToLower(arg)
	if slices.Contains(s.firstArgs[row.ID], arg) {
		return
	}
	if s.firstArgs == nil {
		s.firstArgs = make(map[int][]string)
	}
	s.firstArgs[row.ID] = append(slices.Clip(s.firstArgs[row.ID]), arg)
}

// note keeps a word on commands ("get", "@read", "config|get"). Earlier words on the same, or on its subcommands, are idle
// from now on.
func (s *selector) note(word string, allow bool) {
	word = strings.ToLower(word)
	s.rules = slices.DeleteFunc(s.rules, func(rule string) bool {
		about := rule[1:]
		return about == word || strings.HasPrefix(about, word+"|")
	})
	sign := "-"
	if allow {
		sign = "+"
	}
	s.rules = append(s.rules, sign+word)
}

// addKeys opens keys, or opens them further.
func (s *selector) addKeys(p keyPattern) {
	for i := range s.keys {
		if s.keys[i].pattern == p.pattern {
			s.keys[i].use |= p.use
			return
		}
	}
	s.keys = append(s.keys, p)
}

func (s *selector) addChannel(pattern string) {
	if !slices.Contains(s.channels, pattern) {
		s.channels = append(s.channels, pattern)
	}
}
