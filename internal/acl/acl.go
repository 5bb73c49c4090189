// Package acl decides what a user may do: which commands, with which keys and channels. It is pure: whoever calls it locks
// nothing, and users never change once they are made.
//
// A User has one root selector and may have more. A command is allowed when one of the selectors allows all of it. Rules
// (Redis's "on", ">password", "+@read", "~cache:*", "(+get ~x*)") make a new User of an old one. A Registry holds the users
// of a node by name; an Account is one of its entries, which connections keep, so that a change reaches them at once.
//
// Commands are known by the IDs of spec rows, which renaming does not change.
package acl

import (
	"slices"

	"github.com/covey-db/covey/internal/spec"
)

// DefaultName is the user of connections that have not said who they are.
const DefaultName = "default"

// User is what somebody may do. It is never changed: rules make another one.
type User struct {
	Name string
	// Enabled says that one can log in as this user.
	Enabled bool
	// NoPass says that every password is right, and that the default user need not log in.
	NoPass bool
	// SkipSanitize says that RESTORE need not check what this user gives it.
	SkipSanitize bool

	passwords []string // SHA-256, 64 lower-case hexadecimal digits, in the order they were added
	root      *selector
	others    []*selector
	free      bool // the root selector allows everything
}

// newUser is a user that may do nothing; channels says that all channels are open to it.
func newUser(name string, channels bool) *User {
	return &User{Name: name, root: newSelector(channels)}
}

// NewDefault is the default user as a server has it that nobody has configured: it may do everything, without a password.
func NewDefault() *User {
	u := newUser(DefaultName, true)
	u.Enabled, u.NoPass = true, true
	u.root.allCommands(true)
	u.root.allKeys = true
	u.settle()
	return u
}

// clone is a copy whose parts may be changed.
func (u *User) clone() *User {
	c := *u
	c.passwords = slices.Clone(u.passwords)
	c.root = u.root.clone()
	c.others = make([]*selector, len(u.others))
	for i, s := range u.others {
		c.others[i] = s.clone()
	}
	return &c
}

// settle computes what Check needs to be fast.
func (u *User) settle() { u.free = u.root.everyCommand() && u.root.allKeys && u.root.allChannels }

// Unrestricted says that the user may run every command with every key and channel.
func (u *User) Unrestricted() bool { return u.free }

func (u *User) selectors(yield func(*selector) bool) {
	if !yield(u.root) {
		return
	}
	for _, s := range u.others {
		if !yield(s) {
			return
		}
	}
}

// use is how keys may be used.
type use uint8

const (
	useRead use = 1 << iota
	useWrite
	useAll = useRead | useWrite
)

// useOf is what a command that uses a key in such a way needs.
func useOf(f spec.KeyFlag) (need use) {
	if f&spec.KeyAccess != 0 {
		need |= useRead
	}
	if f&(spec.KeyInsert|spec.KeyDelete|spec.KeyUpdate) != 0 {
		need |= useWrite
	}
	return need
}

// keyPattern opens the keys that match a pattern.
type keyPattern struct {
	pattern string
	use     use
}

func (p keyPattern) appendTo(dst []byte) []byte {
	switch p.use {
	case useRead:
		dst = append(dst, "%R"...)
	case useWrite:
		dst = append(dst, "%W"...)
	}
	return append(append(dst, '~'), p.pattern...)
}
