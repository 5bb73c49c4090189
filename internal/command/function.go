package command

import (
	"errors"
	"slices"
	"time"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/glob"
	"github.com/covey-db/covey/internal/rdb"
	"github.com/covey-db/covey/internal/script"
	"github.com/covey-db/covey/internal/spec"
)

// This file holds FUNCTION and FCALL. The set of libraries changes under all locks, so that a snapshot and the stream of a
// replica have the libraries as of their moment.

func functionHandlers(s *Scripts) map[string]engine.Handler {
	call := func(readOnly bool) engine.Handler {
		return engine.Handler{
			Run: func(c *engine.Ctx) { s.cmdFCall(c, readOnly) },
			Flags: func(args [][]byte, row spec.Flag) spec.Flag {
				if f := s.functions.Now().Function(string(args[1])); f != nil {
					return flagsFor(f.Flags, row)
				}
				return row
			},
		}
	}
	return map[string]engine.Handler{
		"fcall":            call(false),
		"fcall_ro":         call(true),
		"function|load":    {Run: s.cmdFunctionLoad, Scope: engine.ScopeWhole},
		"function|delete":  {Run: s.cmdFunctionDelete, Scope: engine.ScopeWhole},
		"function|flush":   {Run: s.cmdFunctionFlush, Scope: engine.ScopeWhole},
		"function|restore": {Run: s.cmdFunctionRestore, Scope: engine.ScopeWhole},
		"function|dump":    {Run: s.cmdFunctionDump},
		"function|list":    {Run: s.cmdFunctionList},
		"function|stats":   {Run: s.cmdFunctionStats},
		"function|kill":    {Run: func(c *engine.Ctx) { kill(c, false) }},
		"function|help":    {Run: cmdFunctionHelp},
	}
}

func (s *Scripts) cmdFCall(c *engine.Ctx, readOnly bool) {
	f := s.functions.Now().Function(string(c.Arg(1)))
	if f == nil {
		c.Err("ERR Function not found")
		return
	}
	n, ok := scriptKeys(c, "ERR Bad number of keys provided")
	if !ok || !mayBegin(c, f.Flags, readOnly) {
		return
	}
	m := s.machine(c.Engine(), forFunctions)
	m.function = f
	m.runFor(c, n, scriptOptions(c, f.Flags, f.Name, false, readOnly))
}

// compile loads the code of a library, without putting it in force.
func (s *Scripts) compile(e *engine.Engine, code string, hurry bool) (*script.Library, error) {
	m := s.machine(e, forFunctions)
	defer s.giveBack(e, m)
	return m.vm.Load(code, hurry, s.Log)
}

// change puts another set of libraries in force and propagates the command.
func (s *Scripts) change(c *engine.Ctx, set *script.Libraries) {
	c.LockAll()
	s.functions.Put(set)
	s.cleanMachines()
	c.CountChanges(1)
}

func (s *Scripts) cmdFunctionLoad(c *engine.Ctx) {
	replace := false
	for i := 2; i < len(c.Args)-1; i++ {
		if !c.ArgIs(i, "REPLACE") {
			c.Err("ERR Unknown option given: " + shown(c.Arg(i)))
			return
		}
		replace = true
	}
	code := string(c.Args[len(c.Args)-1])
	if name, err := script.LibraryName(code); err != nil {
		c.Err(codeError(err))
		return
	} else if !replace && s.functions.Now().Get(name) != nil {
		c.Err("ERR Library '" + name + "' already exists")
		return
	}
	l, err := s.compile(c.Engine(), code, !c.FromPrimary())
	if err != nil {
		c.Err(codeError(err))
		return
	}
	c.LockAll()
	set, err := s.functions.Now().With([]*script.Library{l}, replace)
	if err != nil {
		c.Err(codeError(err))
		return
	}
	s.change(c, set)
	c.BulkString(l.Name)
}

func (s *Scripts) cmdFunctionDelete(c *engine.Ctx) {
	c.LockAll()
	name := string(c.Arg(2))
	if s.functions.Now().Get(name) == nil {
		c.Err("ERR Library not found")
		return
	}
	s.change(c, s.functions.Now().Without(name))
	c.OK()
}

func (s *Scripts) cmdFunctionFlush(c *engine.Ctx) {
	switch {
	case len(c.Args) > 3:
		subcommandErr(c)
	case len(c.Args) == 3 && !c.ArgIs(2, "SYNC") && !c.ArgIs(2, "ASYNC"):
		c.Err("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	default:
		s.change(c, script.NoLibraries())
		c.OK()
	}
}

func (s *Scripts) cmdFunctionDump(c *engine.Ctx) {
	c.Bulk(dumpLibraries(s.functions.Now().Sorted()))
}

func dumpLibraries(list []*script.Library) []byte {
	lzf := new(checksum.LZF)
	var out []byte
	for _, l := range list {
		out = rdb.AppendFunction(out, []byte(l.Code), lzf)
	}
	return rdb.AppendDumpFooter(out, 0)
}

func (s *Scripts) cmdFunctionRestore(c *engine.Ctx) {
	if len(c.Args) > 4 {
		subcommandErr(c)
		return
	}
	replace, flush := false, false
	if len(c.Args) == 4 {
		replace, flush = c.ArgIs(3, "REPLACE"), c.ArgIs(3, "FLUSH")
		if !replace && !flush && !c.ArgIs(3, "APPEND") {
			c.Err("ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.")
			return
		}
	}
	var list []*script.Library
	var refused error
	err := rdb.DecodeFunctions(c.Arg(2), func(code []byte) error {
		var l *script.Library
		if l, refused = s.compile(c.Engine(), string(code), !c.FromPrimary()); refused == nil {
			list = append(list, l)
		}
		return refused
	})
	switch {
	case refused != nil:
		c.Err(codeError(refused))
		return
	case errors.Is(err, rdb.ErrDumpFooter):
		c.Err(rdb.ErrDumpFooter.Error())
		return
	case errors.Is(err, rdb.ErrNotFunction):
		c.Err("ERR " + rdb.ErrNotFunction.Error())
		return
	case err != nil:
		c.Err("ERR failed loading the given functions payload")
		return
	}
	c.LockAll()
	set := s.functions.Now()
	if flush {
		set = script.NoLibraries()
	}
	if set, err = set.With(list, replace); err != nil {
		c.Err(codeError(err))
		return
	}
	s.change(c, set)
	if rdb.IsNewerDump(c.Arg(2)) { // a Redis 7.0 could not repeat the command
		effect := slices.Clone(c.Args)
		effect[2] = dumpLibraries(list)
		c.Propagate(effect...)
	}
	c.OK()
}

func (s *Scripts) cmdFunctionList(c *engine.Ctx) {
	withCode, filtered := false, false
	var pattern []byte
	for i := 2; i < len(c.Args); i++ {
		switch {
		case !withCode && c.ArgIs(i, "WITHCODE"):
			withCode = true
		case !filtered && c.ArgIs(i, "LIBRARYNAME"):
			if i == len(c.Args)-1 {
				c.Err("ERR library name argument was not given")
				return
			}
			i++
			pattern, filtered = c.Arg(i), true
		default:
			c.Err("ERR Unknown argument " + shown(c.Arg(i)))
			return
		}
	}
	var list []*script.Library
	for _, l := range s.functions.Now().Sorted() {
		if !filtered || glob.Match(pattern, []byte(l.Name), true) {
			list = append(list, l)
		}
	}
	c.Array(len(list))
	for _, l := range list {
		replyLibrary(c, l, withCode)
	}
}

func replyLibrary(c *engine.Ctx, l *script.Library, withCode bool) {
	if withCode {
		c.Map(4)
	} else {
		c.Map(3)
	}
	c.BulkString("library_name")
	c.BulkString(l.Name)
	c.BulkString("engine")
	c.BulkString("LUA")
	c.BulkString("functions")
	c.Array(len(l.Functions))
	for _, f := range l.Sorted() {
		c.Map(3)
		c.BulkString("name")
		c.BulkString(f.Name)
		c.BulkString("description")
		if f.Described {
			c.BulkString(f.Description)
		} else {
			c.Null()
		}
		c.BulkString("flags")
		names := f.Flags.Names()
		c.Set(len(names))
		for _, n := range names {
			c.Simple(n)
		}
	}
	if withCode {
		c.BulkString("library_code")
		c.BulkString(l.Code)
	}
}

func (s *Scripts) cmdFunctionStats(c *engine.Ctx) {
	var running *engine.RunningScript
	for _, r := range c.Engine().RunningScripts() {
		if r.Eval {
			c.Err(engine.ErrBusyScript)
			return
		}
		running = &r
	}
	c.Map(2)
	c.BulkString("running_script")
	if running == nil {
		c.Null()
	} else {
		c.Map(3)
		c.BulkString("name")
		c.BulkString(running.Name)
		c.BulkString("command")
		c.Array(len(running.Args))
		for _, a := range running.Args {
			c.Bulk(a)
		}
		c.BulkString("duration_ms")
		c.ReplyInt(int64(running.For / time.Millisecond))
	}
	libraries, functions := s.functions.Now().Count()
	c.BulkString("engines")
	c.Map(1)
	c.BulkString("LUA")
	c.Map(2)
	c.BulkString("libraries_count")
	c.ReplyInt(int64(libraries))
	c.BulkString("functions_count")
	c.ReplyInt(int64(functions))
}

func cmdFunctionHelp(c *engine.Ctx) {
	c.Help(
		"LOAD [REPLACE] <FUNCTION CODE>",
		"    Load a library; its name stands in the first line of the code.",
		"DELETE <LIBRARY NAME>",
		"    Unload a library.",
		"LIST [LIBRARYNAME PATTERN] [WITHCODE]",
		"    Describe the libraries and their functions.",
		"STATS",
		"    Describe the function that runs for long, and count the libraries.",
		"KILL",
		"    End the function that runs for long, if it has written nothing.",
		"FLUSH [ASYNC|SYNC]",
		"    Unload all libraries.",
		"DUMP",
		"    Return all libraries as one payload.",
		"RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
		"    Load the libraries of a payload. FLUSH unloads all others first, REPLACE those of the same",
		"    names; APPEND, the default, refuses a payload with a name that is taken.")
}

// Codes implements engine.LibraryStore.
func (s *Scripts) Codes() (list [][]byte) {
	for _, l := range s.functions.Now().Sorted() {
		list = append(list, []byte(l.Code))
	}
	return list
}

// Restore implements engine.LibraryStore.
func (s *Scripts) Restore(e *engine.Engine, codes [][]byte, merge bool) error {
	var list []*script.Library
	for _, code := range codes {
		l, err := s.compile(e, string(code), false)
		if err != nil {
			return err
		}
		list = append(list, l)
	}
	set := script.NoLibraries()
	if merge {
		set = s.functions.Now()
	}
	set, err := set.With(list, true)
	if err != nil {
		return err
	}
	s.functions.Put(set)
	s.cleanMachines()
	return nil
}
