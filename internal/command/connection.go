package command

import (
	"bytes"
	"fmt"
	"time"

	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds the commands of a connection: greeting, login, database, end.

// RedisVersion is the version whose behaviour this server has; clients decide by it.
const RedisVersion = "7.2.4"

func connectionHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"ping":      {Run: cmdPing},
		"echo":      {Run: func(c *engine.Ctx) { c.Bulk(c.Args[1]) }},
		"quit":      {Run: cmdQuit},
		"reset":     {Run: cmdReset},
		"select":    {Run: cmdSelect},
		"auth":      {Run: cmdAuth},
		"hello":     {Run: cmdHello},
		"time":      {Run: cmdTime},
		"asking":    {Run: cmdAsking},
		"readonly":  {Run: func(c *engine.Ctx) { cmdReadOnly(c, true) }},
		"readwrite": {Run: func(c *engine.Ctx) { cmdReadOnly(c, false) }},
	}
}

func cmdPing(c *engine.Ctx) {
	switch {
	case len(c.Args) > 2:
		c.ArityErr()
	case c.S.InSubscriberMode():
		c.Array(2)
		c.BulkString("pong")
		c.Bulk(bytes.Join(c.Args[1:], nil))
	case len(c.Args) == 1:
		c.Simple("PONG")
	default:
		c.Bulk(c.Args[1])
	}
}

func cmdQuit(c *engine.Ctx) {
	c.OK()
	c.CloseAfterReply()
}

func cmdReset(c *engine.Ctx) {
	c.ResetState()
	c.Simple("RESET")
}

func cmdSelect(c *engine.Ctx) {
	n, ok := intArg(c, 1, "")
	switch {
	case !ok: // has been replied
	case c.Engine().ClusterOn && n != 0:
		c.Err("ERR SELECT is not allowed in cluster mode")
	case n < 0 || n >= c.Engine().Databases():
		c.Err(engine.ErrDBIndex)
	default:
		c.S.SelectDB(n)
		c.OK()
	}
}

const (
	errWrongPass  = "WRONGPASS invalid username-password pair or user is disabled."
	errNoPassword = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
)

func cmdAuth(c *engine.Ctx) {
	user, password := []byte(acl.DefaultName), c.Args[1]
	switch len(c.Args) {
	case 2:
		if c.Engine().Access.Users.Default().User().NoPass {
			c.Err(errNoPassword)
			return
		}
	case 3:
		user, password = c.Args[1], c.Args[2]
	default:
		c.Err(engine.ErrSyntax)
		return
	}
	if login(c, user, password) {
		c.OK()
	}
}

// login makes the session act as a user; false when the refusal has been replied.
func login(c *engine.Ctx, user, password []byte) bool {
	account := c.Engine().Access.Users.Login(user, password)
	if account == nil {
		where := acl.TopLevel
		if c.InExec() {
			where = acl.InMulti
		}
		c.NoteDenied(acl.DeniedAuth, where, string(c.Args[0]), string(user))
		c.Err(errWrongPass)
		return false
	}
	c.S.Login(account)
	return true
}

const errHelloNoAuth = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> " +
	"option can be used to authenticate the client and select the RESP protocol version at the same time"

func cmdHello(c *engine.Ctx) {
	proto := c.Proto()
	if len(c.Args) > 1 {
		n, ok := num.ParseInt(c.Args[1])
		if !ok {
			c.Err("ERR Protocol version is not an integer or out of range")
			return
		}
		if n < 2 || n > 3 {
			c.Err("NOPROTO unsupported protocol version")
			return
		}
		proto = resp.Version(n)
	}
	name, setName, ok := helloOptions(c)
	if !ok {
		return
	}
	if !c.S.LoggedIn() {
		c.Err(errHelloNoAuth)
		return
	}
	if setName {
		c.S.SetName(name)
	}
	c.S.SetProto(proto)
	replyHello(c)
}

// helloOptions reads AUTH and SETNAME; false when the error has been replied.
func helloOptions(c *engine.Ctx) (name string, setName, ok bool) {
	auth := 0
	for i := 2; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "AUTH") && i+2 < len(c.Args):
			auth = i + 1 // of several the last one counts
			i += 2
		case c.ArgIs(i, "SETNAME") && i+1 < len(c.Args):
			if !validName(c, c.Args[i+1], "Client names") {
				return "", false, false
			}
			name, setName = string(c.Args[i+1]), true
			i++
		default:
			c.Err(fmt.Sprintf("ERR Syntax error in HELLO option '%s'", c.Args[i]))
			return "", false, false
		}
	}
	if auth > 0 && !login(c, c.Args[auth], c.Args[auth+1]) {
		return "", false, false
	}
	return name, setName, true
}

// validName refuses blanks and control characters, which would break the lines of CLIENT LIST.
func validName(c *engine.Ctx, name []byte, what string) bool {
	for _, b := range name {
		if b < '!' || b > '~' {
			c.Err("ERR " + what + " cannot contain spaces, newlines or special characters.")
			return false
		}
	}
	return true
}

func replyHello(c *engine.Ctx) {
	e := c.Engine()
	mode, role := "standalone", "master"
	if e.ClusterOn {
		mode = "cluster"
	}
	if e.Role.IsReplica() {
		role = "replica"
	}
	c.Map(7)
	c.BulkString("server")
	c.BulkString("redis")
	c.BulkString("version")
	c.BulkString(RedisVersion)
	c.BulkString("proto")
	c.ReplyInt(int64(c.Proto()))
	c.BulkString("id")
	c.ReplyInt(c.S.ID)
	c.BulkString("mode")
	c.BulkString(mode)
	c.BulkString("role")
	c.BulkString(role)
	c.BulkString("modules")
	c.Array(0)
}

func cmdTime(c *engine.Ctx) {
	now := time.UnixMilli(int64(c.Engine().Clock.Now()))
	if c.InScript() {
		now = time.UnixMilli(int64(c.Now)) // time stands still for a script
	} else if live := time.Now(); live.Sub(now).Abs() < time.Second {
		now = live // the engine's clock has milliseconds, TIME shows microseconds
	}
	c.Array(2)
	c.BulkString(fmt.Sprint(now.Unix()))
	c.BulkString(fmt.Sprint(now.Nanosecond() / 1000))
}

const errNoCluster = "ERR This instance has cluster support disabled"

func cmdAsking(c *engine.Ctx) {
	if !c.Engine().ClusterOn {
		c.Err(errNoCluster)
		return
	}
	c.S.SetAsking()
	c.OK()
}

func cmdReadOnly(c *engine.Ctx, on bool) {
	if !c.Engine().ClusterOn {
		c.Err(errNoCluster)
		return
	}
	c.S.SetReadOnly(on)
	c.OK()
}
