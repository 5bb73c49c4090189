package command

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/spec"
)

// This file holds ACL, but for its log and its files.

func aclHandlers(d Deps) map[string]engine.Handler {
	return map[string]engine.Handler{
		"acl|cat":     {Run: cmdACLCat},
		"acl|deluser": {Run: cmdACLDelUser},
		"acl|dryrun":  {Run: cmdACLDryRun},
		"acl|genpass": {Run: cmdACLGenPass},
		"acl|getuser": {Run: cmdACLGetUser},
		"acl|help":    {Run: cmdACLHelp},
		"acl|list":    {Run: cmdACLList},
		"acl|load":    {Run: func(c *engine.Ctx) { cmdACLLoad(c, d) }},
		"acl|log":     {Run: cmdACLLog},
		"acl|save":    {Run: func(c *engine.Ctx) { cmdACLSave(c, d) }},
		"acl|setuser": {Run: cmdACLSetUser},
		"acl|users":   {Run: cmdACLUsers},
		"acl|whoami":  {Run: cmdACLWhoAmI},
	}
}

func users(c *engine.Ctx) *acl.Registry { return c.Engine().Access.Users }

// cmdACLCat replies the names of the categories, or the commands of one.
func cmdACLCat(c *engine.Ctx) {
	switch len(c.Args) {
	case 2:
		names := spec.CategoryNames()
		c.Array(len(names))
		for _, name := range names {
			c.BulkString(name)
		}
	case 3:
		cat, ok := spec.CategoryByName(c.Args[2])
		if !ok {
			c.Err("ERR Unknown category '" + shownStart(c.Args[2]) + "'")
			return
		}
		var names []string
		for row := range c.Engine().Table().All() {
			if row.Categories&cat != 0 {
				names = append(names, row.Full)
			}
		}
		c.Array(len(names))
		for _, name := range names {
			c.BulkString(name)
		}
	default:
		subcommandErr(c)
	}
}

func cmdACLSetUser(c *engine.Ctx) {
	ch, err := users(c).Set(c.Args[2], c.Args[3:])
	if err != nil {
		c.Err("ERR " + err.Error())
		return
	}
	c.Engine().UsersChanged([]acl.Change{ch}, c.S)
	c.OK()
}

func cmdACLDelUser(c *engine.Ctx) {
	changes, err := users(c).Delete(c.Args[2:])
	if err != nil {
		c.Err("ERR " + err.Error())
		return
	}
	c.Engine().UsersChanged(changes, c.S)
	c.ReplyInt(int64(len(changes)))
}

func cmdACLGetUser(c *engine.Ctx) {
	a := users(c).Account(c.Args[2])
	if a == nil {
		c.Null()
		return
	}
	u := a.User()
	c.Map(6)
	c.BulkString("flags")
	flags := u.Flags()
	c.Set(len(flags))
	for _, word := range flags {
		c.BulkString(word)
	}
	c.BulkString("passwords")
	c.Array(len(u.Passwords()))
	for _, sum := range u.Passwords() {
		c.BulkString(sum)
	}
	replyPermissions(c, u.Root())
	c.BulkString("selectors")
	c.Array(len(u.Selectors()))
	for _, p := range u.Selectors() {
		c.Map(3)
		replyPermissions(c, p)
	}
}

func replyPermissions(c *engine.Ctx, p acl.Permissions) {
	for _, pair := range [][2]string{{"commands", p.Commands}, {"keys", p.Keys}, {"channels", p.Channels}} {
		c.BulkString(pair[0])
		c.BulkString(pair[1])
	}
}

func cmdACLList(c *engine.Ctx) {
	all := users(c).All()
	c.Array(len(all))
	for _, a := range all {
		c.BulkString(a.Line())
	}
}

func cmdACLUsers(c *engine.Ctx) {
	all := users(c).All()
	c.Array(len(all))
	for _, a := range all {
		c.BulkString(a.Name())
	}
}

func cmdACLWhoAmI(c *engine.Ctx) {
	if a := c.S.Account(); a != nil {
		c.BulkString(a.Name())
		return
	}
	c.Null()
}

// cmdACLDryRun says whether a user may run a command line, without running it.
func cmdACLDryRun(c *engine.Ctx) {
	a := users(c).Account(c.Args[2])
	if a == nil {
		c.Err(fmt.Sprintf("ERR User '%s' not found", shown(c.Args[2])))
		return
	}
	args := c.Args[3:]
	row, _ := c.Engine().Table().Resolve(args)
	switch {
	case row == nil:
		c.Err(fmt.Sprintf("ERR Command '%s' not found", shown(args[0])))
		return
	case !row.AcceptsArity(len(args)):
		c.Err("ERR wrong number of arguments for '" + row.Full + "' command")
		return
	}
	u := a.User()
	if v := u.Check(row, args, nil); v.Reason != acl.Allowed {
		c.BulkString(u.Explain(v, row, args))
		return
	}
	c.OK()
}

const (
	passBits     = 256 // of a password when nothing else is asked for
	passBitsMax  = 4096
	bitsPerDigit = 4
)

func cmdACLGenPass(c *engine.Ctx) {
	bits := int64(passBits)
	if len(c.Args) > 3 {
		subcommandErr(c)
		return
	}
	if len(c.Args) == 3 {
		var ok bool
		if bits, ok = c.Int(2); !ok {
			return
		}
	}
	if bits <= 0 || bits > passBitsMax {
		c.Err(fmt.Sprintf("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to %d", passBitsMax))
		return
	}
	digits := int(bits+bitsPerDigit-1) / bitsPerDigit
	random := make([]byte, (digits+1)/2)
	_, _ = rand.Read(random) // it never fails
	c.BulkString(hex.EncodeToString(random)[:digits])
}

const errNoACLFile = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL " +
	"SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store " +
	"users in the Redis configuration."

func cmdACLLoad(c *engine.Ctx, d Deps) {
	if d.LoadUsers == nil {
		c.Err(errNoACLFile)
		return
	}
	changes, err := d.LoadUsers()
	if err != nil {
		c.Err("ERR " + err.Error())
		return
	}
	c.Engine().UsersChanged(changes, c.S)
	c.OK()
}

func cmdACLSave(c *engine.Ctx, d Deps) {
	if d.SaveUsers == nil {
		c.Err(errNoACLFile)
		return
	}
	if d.SaveUsers() != nil {
		c.Err("ERR There was an error trying to save the ACLs. Please check the server logs for more information")
		return
	}
	c.OK()
}

// logDefault is how many entries ACL LOG shows.
const logDefault = 10

func cmdACLLog(c *engine.Ctx) {
	count := int64(logDefault)
	if len(c.Args) > 3 {
		subcommandErr(c)
		return
	}
	if len(c.Args) == 3 {
		if c.ArgIs(2, "RESET") {
			c.Engine().Access.Log.Reset()
			c.OK()
			return
		}
		var ok bool
		if count, ok = c.Int(2); !ok {
			return
		}
	}
	entries := c.Engine().Access.Log.Last(count)
	c.Array(len(entries))
	for i := range entries {
		replyLogEntry(c, &entries[i])
	}
}

func replyLogEntry(c *engine.Ctx, e *acl.Entry) {
	number := func(name string, n int64) {
		c.BulkString(name)
		c.ReplyInt(n)
	}
	text := func(name, value string) {
		c.BulkString(name)
		c.BulkString(value)
	}
	c.Map(10)
	number("count", e.Count)
	text("reason", e.Reason.String())
	text("context", e.Context.String())
	text("object", e.Object)
	text("username", e.User)
	c.BulkString("age-seconds")
	age := float64(c.Now-e.Updated) / 1000
	c.Double(age)
	text("client-info", e.Client)
	number("entry-id", e.ID)
	number("timestamp-created", int64(e.Created))
	number("timestamp-last-updated", int64(e.Updated))
}

func cmdACLHelp(c *engine.Ctx) {
	c.Help(
		"CAT [<category>]",
		"    Name the categories, or the commands of one.",
		"DELUSER <username> [<username> ...]",
		"    Remove users and end their connections.",
		"DRYRUN <username> <command> [<arg> ...]",
		"    Tell whether the user may run the command, without running it.",
		"GENPASS [<bits>]",
		"    Make a password of random hexadecimal digits, of 256 bits if not told.",
		"GETUSER <username>",
		"    Show what a user may do.",
		"LIST",
		"    Show all users as lines of a configuration file.",
		"LOAD",
		"    Replace all users by those in the ACL file.",
		"LOG [<count> | RESET]",
		"    Show what was refused lately, or forget it.",
		"SAVE",
		"    Write all users into the ACL file.",
		"SETUSER <username> <rule> [<rule> ...]",
		"    Make or change a user.",
		"USERS",
		"    Show the names of all users.",
		"WHOAMI",
		"    Show the name of this connection's user.",
	)
}
