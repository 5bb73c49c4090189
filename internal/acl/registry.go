package acl

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/covey-db/covey/internal/spec"
)

// This file holds the users of a node.

// Account is a user's place in the registry. Connections keep it: what the user may do changes under them.
type Account struct {
	name string
	user atomic.Pointer[User]
}

// Name is the user's name.
func (a *Account) Name() string { return a.name }

// User is what the user may do now.
func (a *Account) User() *User { return a.user.Load() }

// Change is what became of one account: somebody has to look at the connections that use it.
type Change struct {
	Account  *Account
	Old, New *User // New is nil when the user is gone
}

// Registry has the users by name. Any goroutine may use it.
type Registry struct {
	table    *spec.Table
	standard *Account // the default user, which is never replaced
	channels atomic.Bool

	mu struct { // a leaf lock
		sync.Mutex
		accounts map[string]*Account
	}
}

// NewRegistry has the default user only. table has all commands under their own names.
func NewRegistry(table *spec.Table) *Registry {
	r := &Registry{table: table, standard: &Account{name: DefaultName}}
	r.standard.user.Store(NewDefault())
	r.mu.accounts = map[string]*Account{DefaultName: r.standard}
	return r
}

// SetOpenChannels is acl-pubsub-default: whether new users have all channels.
func (r *Registry) SetOpenChannels(open bool) { r.channels.Store(open) }

func (r *Registry) rules() rules { return rules{r.table, r.channels.Load()} }

// Default is the user of connections that have not said who they are.
func (r *Registry) Default() *Account { return r.standard }

// Account finds a user by name; nil when there is none.
func (r *Registry) Account(name []byte) *Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.accounts[string(name)]
}

// Login finds the user with this name and password; nil when there is none, or it is disabled.
func (r *Registry) Login(name, password []byte) *Account {
	a := r.Account(name)
	if a == nil || !a.User().Accepts(password) {
		return nil
	}
	return a
}

// All are the accounts in the order of their names.
func (r *Registry) All() []*Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*Account, 0, len(r.mu.accounts))
	for _, a := range r.mu.accounts {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *Account) int { return strings.Compare(a.name, b.name) })
	return list
}

// ErrName refuses a name that could not be written into a file.
var ErrName = errors.New("Usernames can't contain spaces or null characters")

// Set applies rules to a user, which is made if it is not there. Either all are applied or, with an error, none.
func (r *Registry) Set(name []byte, list [][]byte) (Change, error) {
	if hasSpace(name) {
		return Change{}, ErrName
	}
	merged, err := MergeSelectors(list)
	if err != nil {
		return Change{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.mu.accounts[string(name)]
	ch := Change{Account: a}
	with := r.rules()
	if a != nil {
		ch.Old = a.User()
		ch.New = ch.Old.clone()
	} else {
		ch.Account = &Account{name: string(name)}
		ch.New = newUser(string(name), with.channels)
	}
	for _, rule := range merged {
		if err := with.apply(ch.New, rule); err != nil {
			return Change{}, fmt.Errorf("Error in ACL SETUSER modifier '%s': %w", rule, err)
		}
	}
	ch.New.settle()
	ch.Account.user.Store(ch.New)
	r.mu.accounts[ch.Account.name] = ch.Account
	return ch, nil
}

// SetDefaultPassword is requirepass; an empty one means that none is needed.
func (r *Registry) SetDefaultPassword(password []byte) {
	rule := []byte("nopass")
	if len(password) > 0 {
		rule = append([]byte{'>'}, password...)
	}
	_, _ = r.Set([]byte(DefaultName), [][]byte{[]byte("resetpass"), rule}) // neither can fail
}

// ErrDefault refuses to delete the default user.
var ErrDefault = errors.New("The 'default' user cannot be removed")

// Delete removes users, and returns those that were there.
func (r *Registry) Delete(names [][]byte) ([]Change, error) {
	for _, name := range names {
		if string(name) == DefaultName {
			return nil, ErrDefault
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var changes []Change
	for _, name := range names {
		if a := r.mu.accounts[string(name)]; a != nil {
			delete(r.mu.accounts, a.name)
			changes = append(changes, Change{Account: a, Old: a.User()})
		}
	}
	return changes, nil
}

// Text is all users as lines of a file.
func (r *Registry) Text() []byte {
	var text []byte
	for _, a := range r.All() {
		text = append(text, a.Line()...)
		text = append(text, '\n')
	}
	return text
}

// Line is the user as a line of a file, and of ACL LIST.
func (a *Account) Line() string { return "user " + a.name + " " + a.User().Rules() }

// Load replaces all users by those in a file, whose name is for the error. Without an error it returns what became of
// those that were there before. With one, nothing has changed.
func (r *Registry) Load(text []byte, file string) ([]Change, error) {
	fresh, wrong := r.parseFile(text, file)
	if wrong != "" {
		return nil, errors.New(wrong + "WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	}
	if fresh[DefaultName] == nil {
		fresh[DefaultName] = NewDefault()
	}
	return r.replace(fresh), nil
}

// replace puts users in the place of those that are there. Redis ends the connections of all users but the default one, those
// of users that stay the same too; so their accounts are gone.
func (r *Registry) replace(fresh map[string]*User) (changes []Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.mu.accounts
	r.mu.accounts = map[string]*Account{DefaultName: r.standard}
	changes = append(changes, Change{Account: r.standard, Old: r.standard.User(), New: fresh[DefaultName]})
	r.standard.user.Store(fresh[DefaultName])
	for _, a := range old {
		if a != r.standard {
			changes = append(changes, Change{Account: a, Old: a.User()})
		}
	}
	for name, u := range fresh {
		if name != DefaultName {
			a := &Account{name: name}
			a.user.Store(u)
			r.mu.accounts[name] = a
		}
	}
	return changes
}

// parseFile reads the lines of a file; wrong tells all mistakes in one line.
func (r *Registry) parseFile(text []byte, file string) (users map[string]*User, wrong string) {
	users = make(map[string]*User)
	for i, line := range bytes.Split(text, []byte("\n")) {
		words := bytes.Split(bytes.Trim(line, " \t\r\n"), []byte(" "))
		if len(words) == 1 && len(words[0]) == 0 {
			continue
		}
		wrong += r.parseLine(users, words, fmt.Sprintf("%s:%d", file, i+1), i+1)
	}
	return users, wrong
}

func (r *Registry) parseLine(users map[string]*User, words [][]byte, at string, number int) (wrong string) {
	if string(words[0]) != "user" || len(words) < 2 {
		return at + " should start with user keyword followed by the username. "
	}
	name := string(words[1])
	switch {
	case hasSpace(words[1]):
		return "'" + at + ": username '" + name + "' contains invalid characters. "
	case users[name] != nil:
		return fmt.Sprintf("WARNING: Duplicate user '%s' found on line %d. ", name, number)
	}
	merged, err := MergeSelectors(words[2:])
	if err != nil {
		return at + ": Unmatched parenthesis in selector definition."
	}
	with := r.rules()
	u := newUser(name, with.channels)
	users[name] = u
	told := false
	for _, rule := range merged {
		rule = bytes.Trim(rule, "\t\r\n")
		switch err := with.apply(u, rule); {
		case errors.Is(err, ErrUnknown):
			wrong += fmt.Sprintf("%s: Error in applying operation '%s': %s. ", at, rule, err)
		case err != nil && !told:
			wrong += at + ": " + err.Error() + ". "
			told = true
		}
	}
	u.settle()
	return wrong
}
