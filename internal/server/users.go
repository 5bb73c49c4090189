package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/command"
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/spec"
	"github.com/covey-db/covey/internal/vfs"
)

// This file holds where the users of access control come from and go to: lines of the configuration, or a file of theirs.

// loadUsers makes the users that the node starts with. table has the commands under their own names.
func (s *Server) loadUsers(table *spec.Table, lines []config.Line) (*acl.Registry, error) {
	users := acl.NewRegistry(table)
	users.SetOpenChannels(s.store.Int("acl-pubsub-default") != 0)
	file := s.store.String("aclfile")
	if file != "" && len(lines) > 0 {
		return nil, errors.New("Configuring Redis with users defined in redis.conf and at the same setting an ACL file path is " +
			"invalid. This setup is very likely to lead to configuration errors and security holes, please define either an " +
			"ACL file or declare users directly in your redis.conf, but not both.")
	}
	if password := s.store.String("requirepass"); password != "" {
		users.SetDefaultPassword([]byte(password))
	}
	if err := configureUsers(users, lines); err != nil {
		return nil, err
	}
	if file != "" {
		if _, err := s.readUsers(users, file); err != nil {
			return nil, fmt.Errorf("Aborting Redis startup because of ACL errors: %w", err)
		}
	}
	return users, nil
}

// configureUsers makes the users of the configuration's lines. The error names the line.
func configureUsers(users *acl.Registry, lines []config.Line) error {
	seen := make(map[string]bool)
	for _, line := range lines {
		name := line.Args[0]
		if seen[name] {
			return line.Fail(acl.ErrDuplicate.Error())
		}
		seen[name] = true
		var rules [][]byte
		if name == acl.DefaultName {
			rules = append(rules, []byte("reset"))
		}
		for _, rule := range line.Args[1:] {
			rules = append(rules, []byte(rule))
		}
		if _, err := users.Set([]byte(name), rules); err != nil {
			return line.Fail(err.Error())
		}
	}
	return nil
}

func (s *Server) readUsers(users *acl.Registry, file string) ([]acl.Change, error) {
	text, err := s.fs.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("Error loading ACLs, opening file '%s': %s", file, osReason(err))
	}
	return users.Load(text, file)
}

// osReason is the operating system's words alone, as C programs show them.
func osReason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// saveUsers is ACL SAVE.
func (s *Server) saveUsers() error {
	err := vfs.WriteFileAtomic(s.fs, s.store.String("aclfile"), s.engine.Access.Users.Text())
	if err != nil {
		s.log.Warn("Writing ACL file for ACL SAVE: " + err.Error())
	}
	return err
}

// userLines are the users as CONFIG REWRITE writes them.
func (s *Server) userLines() []config.User {
	var list []config.User
	for _, a := range s.engine.Access.Users.All() {
		list = append(list, config.User{Name: a.Name(), Rules: a.User().Rules()})
	}
	return list
}

// usersPuts are the directives about users.
func (s *Server) usersPuts() []put {
	access := &s.engine.Access
	access.LogMax = func() int { return int(s.store.Int("acllog-max-len")) }
	access.Line = func(c *engine.Session) string { return command.ClientLine(c, int64(s.engine.Clock.Now())) }
	return []put{
		{[]string{"requirepass"}, s.putPassword},
		{[]string{"acl-pubsub-default"}, func(c config.Snapshot) error {
			access.Users.SetOpenChannels(c.Int("acl-pubsub-default") != 0)
			return nil
		}},
	}
}

// putPassword is requirepass once the node runs. At the start loadUsers sees to it: what users say of themselves comes later.
func (s *Server) putPassword(c config.Snapshot) error {
	if s.hooked {
		s.engine.Access.Users.SetDefaultPassword([]byte(c.String("requirepass")))
	}
	return nil
}
