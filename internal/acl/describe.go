package acl

import "strings"

// This file holds how users are written: in files, and by ACL LIST and ACL GETUSER.

// Rules are the rules that make the user, in one line: what ACL LIST and files have behind the name.
func (u *User) Rules() string {
	words := append([]string(nil), u.Flags()...)
	for _, sum := range u.passwords {
		words = append(words, "#"+sum)
	}
	words = append(words, u.root.describe())
	for _, s := range u.others {
		words = append(words, "("+s.describe()+")")
	}
	return strings.Join(words, " ")
}

// Flags are the words for what the user is beside its permissions.
func (u *User) Flags() (words []string) {
	words = append(words, map[bool]string{true: "on", false: "off"}[u.Enabled])
	if u.NoPass {
		words = append(words, "nopass")
	}
	if u.SkipSanitize {
		return append(words, "skip-sanitize-payload")
	}
	return append(words, "sanitize-payload")
}

// Permissions are what one selector allows, each part as rules.
type Permissions struct {
	Commands, Keys, Channels string
}

// Root are the permissions of the user itself.
func (u *User) Root() Permissions { return u.root.permissions() }

// Selectors are the permissions of the user's other selectors.
func (u *User) Selectors() []Permissions {
	list := make([]Permissions, len(u.others))
	for i, s := range u.others {
		list[i] = s.permissions()
	}
	return list
}

func (s *selector) permissions() Permissions {
	return Permissions{s.describeCommands(), s.describeKeys(), s.describeChannels()}
}

func (s *selector) describeCommands() string {
	all := "-@all"
	if s.future {
		all = "+@all"
	}
	return strings.Join(append([]string{all}, s.rules...), " ")
}

func (s *selector) describeKeys() string {
	if s.allKeys {
		return "~*"
	}
	var text []byte
	for i, p := range s.keys {
		if i > 0 {
			text = append(text, ' ')
		}
		text = p.appendTo(text)
	}
	return string(text)
}

func (s *selector) describeChannels() string {
	if s.allChannels {
		return "&*"
	}
	words := make([]string, len(s.channels))
	for i, c := range s.channels {
		words[i] = "&" + c
	}
	return strings.Join(words, " ")
}

// describe is the selector in one line.
func (s *selector) describe() string {
	var words []string
	if keys := s.describeKeys(); keys != "" {
		words = append(words, keys)
	}
	if !s.allChannels {
		words = append(words, "resetchannels")
	}
	if channels := s.describeChannels(); channels != "" {
		words = append(words, channels)
	}
	return strings.Join(append(words, s.describeCommands()), " ")
}
