package acl

import (
	"bytes"
	"slices"
	"strings"

	"github.com/covey-db/covey/internal/spec"
)

// This file holds the rules that make users.

// Error is a mistake in a rule; its text goes on the wire.
type Error string

func (e Error) Error() string { return string(e) }

// The mistakes in rules, as Redis words them.
const (
	ErrSyntax        Error = "Syntax error"
	ErrUnknown       Error = "Unknown command or category name in ACL"
	ErrKeysOpen      Error = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns"
	ErrChannelsOpen  Error = "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels"
	ErrNoPassword    Error = "The password you are trying to remove from the user does not exist"
	ErrPasswordHash  Error = "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
	ErrDuplicate     Error = "Duplicate user found. A user can only be defined once in config files"
	ErrSubcommandArg Error = "Allowing first-arg of a subcommand is not supported"
	errUnmatched     Error = "Unmatched parenthesis in acl selector starting at"
)

// rules applies rules to a user that nobody has seen yet.
type rules struct {
	table    *spec.Table
	channels bool // acl-pubsub-default is allchannels
}

// apply changes a user by one rule.
func (r rules) apply(u *User, rule []byte) error {
	if len(rule) == 0 {
		return nil
	}
	switch strings.ToLower(string(rule)) {
	case "on":
		u.Enabled = true
	case "off":
		u.Enabled = false
	case "sanitize-payload":
		u.SkipSanitize = false
	case "skip-sanitize-payload":
		u.SkipSanitize = true
	case "nopass":
		u.NoPass, u.passwords = true, nil
	case "resetpass":
		u.NoPass, u.passwords = false, nil
	case "clearselectors":
		u.others = nil
	case "reset":
		*u = *newUser(u.Name, r.channels)
	default:
		switch rule[0] {
		case '>', '#':
			return u.addPassword(rule)
		case '<', '!':
			return u.removePassword(rule)
		case '(':
			if rule[len(rule)-1] == ')' && len(rule) > 1 {
				return r.addSelector(u, rule[1:len(rule)-1])
			}
		}
		return r.applyTo(u.root, rule)
	}
	return nil
}

// addSelector adds the selector that the rules between parentheses describe.
func (r rules) addSelector(u *User, text []byte) error {
	words, err := splitWords(text)
	if err != nil {
		return err
	}
	s := newSelector(r.channels)
	for _, word := range words {
		if word[len(word)-1] == ')' {
			return ErrSyntax // in a file it would end the selector
		}
		if err := r.applyTo(s, word); err != nil {
			return err
		}
	}
	u.others = append(u.others, s)
	return nil
}

// applyTo changes a selector by one rule.
func (r rules) applyTo(s *selector, rule []byte) error {
	switch strings.ToLower(string(rule)) {
	case "allkeys", "~*":
		s.allKeys, s.keys = true, nil
		return nil
	case "resetkeys":
		s.allKeys, s.keys = false, nil
		return nil
	case "allchannels", "&*":
		s.allChannels, s.channels = true, nil
		return nil
	case "resetchannels":
		s.allChannels, s.channels = false, nil
		return nil
	case "allcommands", "+@all":
		s.allCommands(true)
		return nil
	case "nocommands", "-@all":
		s.allCommands(false)
		return nil
	}
	if len(rule) == 0 {
		return ErrSyntax
	}
	switch rule[0] {
	case '~', '%':
		return keysRule(s, rule)
	case '&':
		return channelRule(s, rule[1:])
	case '+', '-':
		return r.commandRule(s, rule[1:], rule[0] == '+')
	}
	return ErrSyntax
}

// keysRule is ~pattern and %RW~pattern.
func keysRule(s *selector, rule []byte) error {
	if s.allKeys {
		return ErrKeysOpen
	}
	p, pattern := useAll, rule[1:]
	if rule[0] == '%' {
		letters, rest, ok := bytes.Cut(pattern, []byte("~"))
		if p = usesNamed(letters); !ok || p == 0 {
			return ErrSyntax
		}
		pattern = rest
	}
	if hasSpace(pattern) {
		return ErrSyntax
	}
	s.addKeys(keyPattern{string(pattern), p})
	return nil
}

// usesNamed reads R, W or both, each once; 0 for anything else.
func usesNamed(letters []byte) (p use) {
	for _, c := range letters {
		var one use
		switch c | 0x20 {
		case 'r':
			one = useRead
		case 'w':
			one = useWrite
		}
		if one == 0 || p&one != 0 {
			return 0
		}
		p |= one
	}
	return p
}

func channelRule(s *selector, pattern []byte) error {
	if s.allChannels {
		return ErrChannelsOpen
	}
	if hasSpace(pattern) {
		return ErrSyntax
	}
	s.addChannel(string(pattern))
	return nil
}

// hasSpace says whether a pattern cannot be written into a file.
func hasSpace(b []byte) bool { return bytes.ContainsAny(b, " \t\n\v\f\r\x00") }

// commandRule is a rule on commands, without its sign.
func (r rules) commandRule(s *selector, name []byte, allow bool) error {
	if len(name) > 0 && name[0] == '@' {
		cat, ok := spec.CategoryByName(name[1:])
		if !ok {
			return ErrUnknown
		}
		s.category(r.table, cat, allow)
		s.note(string(name), allow)
		return nil
	}
	row := r.table.Find(name)
	bar := bytes.LastIndexByte(name, '|')
	if row == nil && bar >= 0 && allow {
		return r.firstArgRule(s, name[:bar], string(name[bar+1:]))
	}
	if row == nil {
		return ErrUnknown
	}
	s.command(row, allow)
	s.note(row.Full, allow)
	return nil
}

// firstArgRule is +command|argument, for a command that has no such subcommand.
func (r rules) firstArgRule(s *selector, name []byte, arg string) error {
	row := r.table.Find(name)
	switch {
	case row == nil:
		return ErrUnknown
	case row.Parent != nil:
		return ErrSubcommandArg
	case arg == "":
		return ErrSyntax
	case len(row.Subs) > 0:
		return ErrUnknown
	}
	s.firstArg(row, arg)
	s.note(string(name)+"|"+arg, true)
	return nil
}

// MergeSelectors joins rules that were one selector in parentheses before somebody split it at its spaces. When one is not
// closed, the error names it.
func MergeSelectors(list [][]byte) ([][]byte, error) {
	var merged [][]byte
	var open []byte
	for _, rule := range list {
		switch {
		case open != nil:
			open = append(append(open, ' '), rule...)
			if len(rule) > 0 && rule[len(rule)-1] == ')' {
				merged, open = append(merged, open), nil
			}
		case len(rule) > 0 && rule[0] == '(' && rule[len(rule)-1] != ')':
			open = slices.Clone(rule)
		default:
			merged = append(merged, rule)
		}
	}
	if open != nil {
		first, _, _ := bytes.Cut(open, []byte(" "))
		return nil, Error(string(errUnmatched) + " '" + string(first) + "'.")
	}
	return merged, nil
}

// splitWords splits at spaces. Quotes are not special: no rule of a selector has any use for them.
func splitWords(text []byte) ([][]byte, error) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, ErrSyntax
	}
	return bytes.Fields(text), nil
}
