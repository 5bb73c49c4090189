package engine

import (
	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/spec"
)

// This file joins sessions and commands with what users may do.

// Access is who may do what on this node.
type Access struct {
	Users *acl.Registry
	Log   acl.Log
	// LogMax is acllog-max-len. Line is what the log shows of a client.
	LogMax func() int
	Line   func(*Session) string
}

// Open says that nobody has to log in.
func (a *Access) Open() bool {
	u := a.Users.Default().User()
	return u.NoPass && u.Enabled
}

// Account is the user that the session acts as; nil for the node itself. Any goroutine may ask.
func (s *Session) Account() *acl.Account { return s.account.Load() }

// user is what the session may do; nil for the node itself, which may do everything.
func (s *Session) user() *acl.User {
	if a := s.account.Load(); a != nil {
		return a.User()
	}
	return nil
}

// Login makes the session act as a user.
func (s *Session) Login(a *acl.Account) {
	s.loggedIn = true
	s.parser.Limits.Unauthenticated = false
	s.account.Store(a)
}

// Logout makes the session what a new one is.
func (s *Session) Logout() {
	a := s.e.Access.Users.Default()
	s.account.Store(a)
	s.loggedIn = s.e.Access.Open()
	s.parser.Limits.Unauthenticated = !s.loggedIn
}

// LoggedIn says whether the client has authenticated, or need not.
func (s *Session) LoggedIn() bool { return s.loggedIn || s.e.Access.Open() }

// denied is why the session may not run a command line at all, "" if it may.
func (c *Ctx) denied(cmd *Command) string {
	s := c.S
	if !s.loggedIn && cmd.Flags&spec.NoAuth == 0 && !c.e.Access.Open() {
		return ErrNoAuth
	}
	where := acl.TopLevel
	if s.multi != nil {
		where = acl.InMulti
	}
	v := c.Check(cmd, c.Args, where)
	if v.Reason == acl.Allowed {
		return ""
	}
	return "NOPERM " + s.user().Refusal(v, cmd.Row)
}

// Check says whether the session's user may run a command line, and notes a refusal in the log.
func (c *Ctx) Check(cmd *Command, args [][]byte, where acl.Context) acl.Verdict {
	u := c.S.user()
	if u == nil || u.Unrestricted() {
		return acl.Verdict{}
	}
	v := u.Check(cmd.Row, args, c.aclKeys[:])
	if v.Reason != acl.Allowed {
		object := []byte(cmd.Full)
		if v.Pos > 0 {
			object = args[v.Pos]
		}
		c.NoteDenied(v.Reason, where, string(object), u.Name)
	}
	return v
}

// NoteDenied adds to the log of what was refused.
func (c *Ctx) NoteDenied(why acl.Reason, where acl.Context, object, user string) {
	c.e.Stats.Denied[why].Add(1)
	entry := acl.Entry{Reason: why, Context: where, Object: object, User: user}
	if c.e.Access.Line != nil {
		client := c.S
		if client.client != nil {
			client = client.client
		}
		entry.Client = c.e.Access.Line(client)
	}
	c.e.Access.Log.Add(entry, c.Now, c.e.Access.LogMax())
}

// MayUseAllKeys says whether the user may run the command and use every key of the database so: what BY and GET of SORT need.
func (c *Ctx) MayUseAllKeys(use spec.KeyFlag) bool {
	u := c.S.user()
	return u == nil || u.Unrestricted() || u.CheckAllKeys(c.Cmd.Row, c.Args, use)
}

// recheck is Check for a command that was queued when the user may have been allowed more; false: the refusal has been
// replied.
func (c *Ctx) recheck(cmd *Command) bool {
	v := c.Check(cmd, c.Args, acl.InMulti)
	if v.Reason == acl.Allowed {
		return true
	}
	why := map[acl.Reason]string{
		acl.DeniedCommand: "no permission to execute the command or subcommand",
		acl.DeniedKey:     "no permission to touch the specified keys",
		acl.DeniedChannel: "no permission to access one of the channels used as arguments",
	}[v.Reason]
	c.Err("NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is " +
		"no longer allowed for the following reason: " + why)
	return false
}

// UsersChanged ends the connections of users that are gone, and of subscribers that may not listen any more to what they
// listen to. own is the session that made the change: it gets its reply first; nil if there is none.
func (e *Engine) UsersChanged(changes []acl.Change, own *Session) {
	byAccount := make(map[*acl.Account]acl.Change)
	for _, ch := range changes {
		if ch.Old != nil && (ch.New == nil || !ch.New.KeepsChannels(ch.Old)) {
			byAccount[ch.Account] = ch
		}
	}
	if len(byAccount) == 0 {
		return
	}
	for _, s := range e.Clients.All() {
		ch, ok := byAccount[s.Account()]
		switch {
		case !ok:
		case ch.New == nil && s == own:
			s.closeAfterReply()
		case ch.New == nil:
			s.Kill()
		default:
			s.conn.Post(func(*Worker) { s.leaveForbidden() })
		}
	}
}

// leaveForbidden ends the session when it listens to something that its user may not listen to. On the session's thread.
func (s *Session) leaveForbidden() {
	u := s.user()
	if u == nil {
		return
	}
	for kind := range subKinds {
		for name := range s.subs.byName[kind] {
			if !u.CheckChannel([]byte(name), kind == SubPattern) {
				s.Kill()
				return
			}
		}
	}
}
