package command

import (
	"bytes"
	"errors"
	"strings"
	"sync"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/script"
	"github.com/covey-db/covey/internal/spec"
)

// This file holds EVAL and SCRIPT. Programs are compiled once and shared; a machine runs one script at a time, and as many
// scripts run at the same time as there are machines.

// Scripts are the scripts and functions of a server. The zero value is ready.
type Scripts struct {
	// Log writes what scripts log to the server's log; nil: nowhere. It is set before the first client comes.
	Log func(level int, text string)

	functions script.Registry
	machines  [2]machines // for EVAL, for functions

	mu     sync.RWMutex // a leaf lock: guards what follows
	bySHA  map[string]*script.Program
	byBody map[string]*script.Program // short bodies, so that EVAL need not compute a SHA-1
}

const (
	forEval = iota
	forFunctions
)

// bodyKeptMax is the length up to which a body is looked up by itself: comparing it is cheaper than its SHA-1.
const bodyKeptMax = 4096

// machines are those that run nothing.
type machines struct {
	mu   sync.Mutex // a leaf lock
	idle []*machine
}

const (
	idleMax      = 64       // machines that are kept
	machineBytes = 64 << 10 // what one takes, about
)

// machine is one, with what it runs.
type machine struct {
	*engine.Script // the run: the engine for the script's commands
	scripts        *Scripts
	vm             *script.VM
	kind           int
	reply          script.Reply
	stop           func(why error)      // ends the script
	execute        func(*engine.Script) // runs it

	c          *engine.Ctx      // the command that runs it
	program    *script.Program  // of EVAL, or nil
	function   *script.Function // of FCALL
	debug      *debugRun        // the program is debugged; nil for none
	keys, args [][]byte
}

func (s *Scripts) machine(e *engine.Engine, kind int) *machine {
	m := &s.machines[kind]
	m.mu.Lock()
	if n := len(m.idle); n > 0 {
		one := m.idle[n-1]
		m.idle = m.idle[:n-1]
		m.mu.Unlock()
		return one
	}
	m.mu.Unlock()
	e.Use(machineBytes)
	one := &machine{scripts: s, kind: kind, vm: script.NewVM(script.Options{
		Functions: kind == forFunctions, Version: RedisVersion, VersionNo: redisVersionNumber, Seed: e.Random(),
	})}
	one.stop, one.execute, one.reply.Err = one.vm.Stop, one.run, one.noteError
	return one
}

// redisVersionNumber is RedisVersion with two hexadecimal digits for each of its parts.
const redisVersionNumber = 0x00070204

func (s *Scripts) giveBack(e *engine.Engine, one *machine) {
	m := &s.machines[one.kind]
	m.mu.Lock()
	keep := len(m.idle) < idleMax
	if keep {
		m.idle = append(m.idle, one)
	}
	m.mu.Unlock()
	if !keep {
		e.Use(-machineBytes)
	}
}

// cleanMachines makes the machines that run nothing forget the functions that are not in force.
func (s *Scripts) cleanMachines() {
	m := &s.machines[forFunctions]
	now := s.functions.Now()
	m.mu.Lock()
	for _, one := range m.idle {
		one.vm.Forget(now)
	}
	m.mu.Unlock()
}

func (s *Scripts) cached(body []byte) *script.Program {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(body) <= bodyKeptMax {
		return s.byBody[string(body)]
	}
	return s.bySHA[script.SHA1(string(body))]
}

func (s *Scripts) bySum(sha []byte) *script.Program {
	if len(sha) != 40 {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if p := s.bySHA[string(sha)]; p != nil {
		return p
	}
	return s.bySHA[string(bytes.ToLower(sha))]
}

// load compiles a script and caches it. The error is what the client gets.
func (s *Scripts) load(body []byte) (*script.Program, error) {
	if p := s.cached(body); p != nil {
		return p, nil
	}
	text := string(body)
	p, err := script.Compile(text, script.SHA1(text))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bySHA == nil {
		s.bySHA, s.byBody = make(map[string]*script.Program), make(map[string]*script.Program)
	}
	s.bySHA[p.SHA] = p
	if len(body) <= bodyKeptMax {
		s.byBody[text] = p
	}
	return p, nil
}

func (s *Scripts) flush() {
	s.mu.Lock()
	s.bySHA, s.byBody = nil, nil
	s.mu.Unlock()
}

// Cached is the number of cached scripts and the bytes of their sources.
func (s *Scripts) Cached() (n int, size int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, p := range s.bySHA {
		size += int64(len(p.Body) + len(p.SHA))
	}
	return len(s.bySHA), size
}

func scriptHandlers(s *Scripts) map[string]engine.Handler {
	eval := func(sum, readOnly bool) engine.Handler {
		return engine.Handler{
			Run: func(c *engine.Ctx) { s.cmdEval(c, sum, readOnly) },
			Flags: func(args [][]byte, row spec.Flag) spec.Flag {
				return s.evalFlags(args, row, sum)
			},
		}
	}
	return map[string]engine.Handler{
		"eval":          eval(false, false),
		"eval_ro":       eval(false, true),
		"evalsha":       eval(true, false),
		"evalsha_ro":    eval(true, true),
		"script|load":   {Run: s.cmdScriptLoad},
		"script|exists": {Run: s.cmdScriptExists},
		"script|flush":  {Run: s.cmdScriptFlush},
		"script|kill":   {Run: func(c *engine.Ctx) { kill(c, true) }},
		"script|debug":  {Run: cmdScriptDebug},
		"script|help":   {Run: cmdScriptHelp},
	}
}

// flagsFor are the flags of a command that runs a script with flags of its own.
func flagsFor(f script.Flags, row spec.Flag) spec.Flag {
	if f&script.Compat != 0 {
		return row
	}
	row &^= spec.Stale | spec.DenyOOM | spec.Write | spec.MayReplicate
	if f&(script.AllowOOM|script.NoWrites) == 0 {
		row |= spec.DenyOOM
	}
	if f&script.NoWrites == 0 {
		row |= spec.Write
	}
	if f&script.AllowStale != 0 {
		row |= spec.Stale
	}
	return row
}

func (s *Scripts) evalFlags(args [][]byte, row spec.Flag, sum bool) spec.Flag {
	if sum {
		if p := s.bySum(args[1]); p != nil {
			return flagsFor(p.Flags, row)
		}
		return row
	}
	if len(args[1]) < 2 || args[1][0] != '#' || args[1][1] != '!' {
		return row
	}
	if f, _, err := script.Shebang(string(args[1])); err == nil {
		return flagsFor(f, row)
	}
	return row
}

// scriptKeys reads the number of keys; false when the error has been replied.
func scriptKeys(c *engine.Ctx, notInteger string) (n int, ok bool) {
	count, ok := num.ParseInt(c.Arg(2))
	switch {
	case !ok:
		c.Err(notInteger)
	case count > int64(len(c.Args)-3):
		c.Err("ERR Number of keys can't be greater than number of args")
	case count < 0:
		c.Err("ERR Number of keys can't be negative")
	default:
		return int(count), true
	}
	return 0, false
}

const errNoScript = "NOSCRIPT No matching script. Please use EVAL."

func (s *Scripts) cmdEval(c *engine.Ctx, sum, readOnly bool) {
	if sum && len(c.Arg(1)) != 40 {
		c.Err(errNoScript)
		return
	}
	n, ok := scriptKeys(c, engine.ErrNotInteger)
	if !ok {
		return
	}
	if !sum && s.debugs(c, n, readOnly) {
		return
	}
	var p *script.Program
	if sum {
		if p = s.bySum(c.Arg(1)); p == nil {
			c.Err(errNoScript)
			return
		}
	} else {
		var err error
		if p, err = s.load(c.Arg(1)); err != nil {
			c.Err("ERR " + err.Error())
			return
		}
	}
	if !mayBegin(c, p.Flags, readOnly) {
		return
	}
	m := s.machine(c.Engine(), forEval)
	m.program = p
	m.runFor(c, n, scriptOptions(c, p.Flags, p.SHA, true, readOnly))
}

// mayBegin applies the checks of a script as a whole; false when the refusal has been replied.
func mayBegin(c *engine.Ctx, f script.Flags, readOnly bool) bool {
	text := ""
	if f&script.Compat == 0 {
		text = c.ScriptRefusal(f&script.NoWrites == 0, f&script.AllowOOM != 0, f&script.AllowStale != 0, f&script.NoCluster != 0, readOnly)
	} else if c.Engine().IsStale() {
		text = engine.ErrMasterDown
	}
	if text != "" {
		c.Err(text)
	}
	return text == ""
}

func scriptOptions(c *engine.Ctx, f script.Flags, name string, eval, readOnly bool) engine.ScriptOptions {
	own := f&script.Compat == 0
	return engine.ScriptOptions{
		Name: name, Eval: eval,
		ReadOnly:       readOnly || own && f&script.NoWrites != 0,
		AllowOOM:       own && f&script.AllowOOM != 0,
		AllowCrossSlot: f&(script.Compat|script.AllowCrossSlot) != 0,
		OOM:            c.OverMemory(),
		FromPrimary:    c.FromPrimary(),
	}
}

// runFor runs the program or function of a machine for a client, with n keys, and gives the machine back.
func (m *machine) runFor(c *engine.Ctx, n int, o engine.ScriptOptions) {
	o.Stop = m.stop
	m.c, m.keys, m.args = c, c.Args[3:3+n], c.Args[3+n:]
	c.RunScript(o, m.execute)
	m.c, m.keys, m.args, m.program, m.function, m.debug = nil, nil, nil, nil, nil, nil
	m.scripts.giveBack(c.Engine(), m)
}

func (m *machine) run(s *engine.Script) {
	m.Script = s
	r := &m.reply
	r.Out, r.Proto = m.vm.Buffer(), m.c.Proto()
	if m.debug != nil {
		m.runDebugged(r)
	} else if m.program != nil {
		m.vm.Eval(m, m.program, m.keys, m.args, r)
	} else {
		m.vm.Call(m, m.function, m.keys, m.args, r)
	}
	m.vm.KeepBuffer(r.Out)
	m.c.Append(func(dst []byte, _ resp.Version) []byte { return append(dst, r.Out...) })
	r.Out = nil
}

// noteError counts an error that is part of the reply.
func (m *machine) noteError(text string, counted bool) {
	if !m.GivenUp() {
		m.c.NoteError(text, counted)
	}
}

// errGivenUp ends a run that is begun again.
var errGivenUp = errors.New("the script begins again")

// Call implements script.Host.
func (m *machine) Call(args [][]byte) (reply []byte, refusal string) {
	reply, refusal = m.Script.Call(args)
	if m.GivenUp() {
		m.stop(errGivenUp)
	}
	return reply, refusal
}

// Log implements script.Host.
func (m *machine) Log(level int, text string) {
	if m.scripts.Log != nil {
		m.Widen() // a log may be slow
		m.scripts.Log(level, text)
	}
}

func (s *Scripts) cmdScriptLoad(c *engine.Ctx) {
	p, err := s.load(c.Arg(2))
	if err != nil {
		c.Err("ERR " + err.Error())
		return
	}
	c.BulkString(p.SHA)
}

func (s *Scripts) cmdScriptExists(c *engine.Ctx) {
	c.Array(len(c.Args) - 2)
	for _, sum := range c.Args[2:] {
		c.Bool01(s.bySum(sum) != nil)
	}
}

func (s *Scripts) cmdScriptFlush(c *engine.Ctx) {
	if len(c.Args) > 3 || len(c.Args) == 3 && !c.ArgIs(2, "SYNC") && !c.ArgIs(2, "ASYNC") {
		c.Err("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
		return
	}
	s.flush()
	c.OK()
}

// kill is SCRIPT KILL and FUNCTION KILL.
func kill(c *engine.Ctx, eval bool) {
	if text := c.Engine().KillScripts(eval); text != "" {
		c.Err(text)
		return
	}
	c.OK()
}

func cmdScriptHelp(c *engine.Ctx) {
	c.Help(
		"DEBUG (YES|SYNC|NO)",
		"    Whether the next EVAL is debugged, and whether the changes it makes stay (SYNC).",
		"EXISTS <sha1> [<sha1> ...]",
		"    Tell which of the scripts are cached.",
		"FLUSH [ASYNC|SYNC]",
		"    Empty the script cache.",
		"KILL",
		"    End the script that runs for long, if it has written nothing.",
		"LOAD <script>",
		"    Cache a script without running it.")
}

// addScripts adds the figures of scripts and functions to INFO.
func (w *infoWriter) addScripts() {
	s := w.d.Scripts
	cached, source := s.Cached()
	libraries, functions := s.functions.Now().Count()
	code := int64(0)
	for _, l := range s.functions.Now().Sorted() {
		code += int64(len(l.Code))
	}
	eval, fn := s.machines[forEval].size(), s.machines[forFunctions].size()
	w.add("used_memory_lua", eval)
	w.add("used_memory_vm_eval", eval)
	w.add("used_memory_lua_human", human(eval))
	w.add("used_memory_scripts_eval", source)
	w.add("number_of_cached_scripts", cached)
	w.add("number_of_functions", functions)
	w.add("number_of_libraries", libraries)
	w.add("used_memory_vm_functions", fn)
	w.add("used_memory_vm_total", eval+fn)
	w.add("used_memory_vm_total_human", human(eval+fn))
	w.add("used_memory_functions", code)
	w.add("used_memory_scripts", source+code)
	w.add("used_memory_scripts_human", human(source+code))
}

// size is about what the machines that run nothing take, in bytes.
func (m *machines) size() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.idle)) * machineBytes
}

// codeError is an error of ours as a reply.
func codeError(err error) string {
	text := err.Error()
	if strings.HasPrefix(text, "ERR ") {
		return text
	}
	return "ERR " + text
}

// cmdDebugDenyScripts is DEBUG SET-DISABLE-DENY-SCRIPTS.
func cmdDebugDenyScripts(c *engine.Ctx) {
	c.Engine().Settings.ScriptsMayAll.Store(string(c.Arg(2)) != "0")
	c.OK()
}
