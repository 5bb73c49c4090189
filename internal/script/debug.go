package script

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	numtext "github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds the debugger of scripts, as redis-cli --ldb speaks to it. The interpreter has no hooks, so a program that is
// debugged is compiled with a call of lineFunction in front of every line (see the writer). A debugger reads its commands from the
// client and answers each with an array of status lines.

const (
	shownBytes     = 256     // how much of a value is shown at first
	shownBytesMin  = 60      // less cannot be asked for
	inputBytesMax  = 1 << 20 // a longer command of the client ends the script
	breakpointsMax = 64
	wordsLogged    = 10 // arguments of a command that are shown
)

// Debugger is one session. The goroutine that runs the script owns it.
type Debugger struct {
	conn   io.ReadWriter
	in     []byte // received and not used
	parser resp.Parser
	source []string // lines of the script
	log    []string // lines for the client that were not sent yet

	line    int  // about to be executed
	step    bool // stop at the next line, and show commands with their replies
	called  bool // the script asked to stop at the next line
	gone    bool // the client is, so that nobody could stop the script any more
	breaks  []int
	most    int // bytes of a value that are shown, 0 for all
	advised bool
}

// NewDebugger begins a session about a script with the client at the end of a connection; unread is what it has sent already.
func NewDebugger(conn io.ReadWriter, unread []byte, body string) *Debugger {
	return &Debugger{
		conn: conn, in: append([]byte(nil), unread...), step: true, most: shownBytes,
		parser: resp.Parser{Limits: resp.Limits{MaxBulk: inputBytesMax, MaxArgs: 1 << 16, MaxInline: inputBytesMax}},
		source: strings.Split(strings.TrimRight(body, "\r\n"), "\n"),
	}
}

// CompileForDebugging is Compile for a program that stops where its debugger says.
func CompileForDebugging(body, sha string) (*Program, error) { return compileScript(body, sha, true) }

// Debug is Eval under a debugger.
func (vm *VM) Debug(host Host, d *Debugger, p *Program, keys, args [][]byte, r *Reply) {
	vm.debugger = d
	defer func() { vm.debugger = nil }()
	vm.Eval(host, p, keys, args, r)
}

// End tells the client that the session is over. The reply of the script follows.
func (d *Debugger) End() {
	d.say("<endsession>")
	d.send()
}

func (d *Debugger) say(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	d.log = append(d.log, format)
}

// show is say for something that may be long.
func (d *Debugger) show(text string) {
	if d.most == 0 || len(text) <= d.most {
		d.say("%s", text)
		return
	}
	d.say("%s", text[:d.most]+" ...")
	if !d.advised {
		d.advised = true
		d.say("<hint> The above reply was trimmed. Use 'maxlen 0' to disable trimming.")
	}
}

// send gives the client what was said, as the reply to its command.
func (d *Debugger) send() {
	out := resp.AppendArray(nil, len(d.log))
	for _, line := range d.log {
		out = resp.AppendSimple(out, strings.NewReplacer("\r", " ", "\n", " ").Replace(line))
	}
	d.log = d.log[:0]
	if _, err := d.conn.Write(out); err != nil {
		d.gone = true
	}
}

// lineFunction is called in front of every line of a program that is debugged, with its number.
func lineFunction() *lua.LFunction {
	return &lua.LFunction{IsG: true, GFunction: atLine, Env: &lua.LTable{Metatable: lua.LNil}}
}

func atLine(L *lua.LState) int {
	vm := machineOf(L)
	d := vm.debugger
	if d == nil {
		return 0
	}
	d.line = int(lua.LVAsNumber(L.Get(1)))
	reason := ""
	switch {
	case d.called:
		reason = "redis.breakpoint() called"
	case d.breaksAt(d.line):
		reason = "break point"
	case d.step:
		reason = "step over"
	default:
		return 0
	}
	d.step, d.called = false, false
	if d.gone {
		return 0
	}
	d.say("* Stopped at %d, stop reason = %s", d.line, reason)
	d.sayLine(d.line)
	d.send()
	if err := d.converse(vm, L); err != nil {
		L.Error(vm.errorTable(err.Error()), 0)
	}
	return 0
}

// converse does what the client says until the script is to go on. An error ends the script.
func (d *Debugger) converse(vm *VM, L *lua.LState) error {
	for !d.gone {
		words, err := d.read()
		if err != nil {
			return err
		}
		if words == nil {
			break
		}
		on, err := d.obey(vm, L, words)
		if on || err != nil {
			return err
		}
		d.send()
	}
	d.gone, d.step, d.breaks = true, false, nil // the script runs to its end by itself
	return nil
}

// read is the next command of the client, nil when the client is gone.
func (d *Debugger) read() ([]string, error) {
	var cmd resp.Command
	for {
		n, err := d.parser.Parse(d.in, &cmd)
		if err != nil {
			return nil, errors.New("protocol error")
		}
		if n > 0 {
			var words []string
			for _, a := range cmd.Args {
				words = append(words, string(a))
			}
			d.in = d.in[:copy(d.in, d.in[n:])]
			if words == nil {
				continue
			}
			return words, nil
		}
		if len(d.in) > inputBytesMax {
			return nil, errors.New("max client buffer reached")
		}
		var buf [4096]byte
		got, err := d.conn.Read(buf[:])
		d.in = append(d.in, buf[:got]...)
		if got == 0 && err != nil {
			return nil, nil
		}
	}
}

// obey executes one command of the client; on says that the script goes on.
func (d *Debugger) obey(vm *VM, L *lua.LState, words []string) (on bool, err error) {
	args := words[1:]
	switch name := strings.ToLower(words[0]); name {
	case "h", "help":
		d.log = append(d.log, debuggerHelp...)
	case "s", "step", "n", "next":
		d.step = true
		return true, nil
	case "c", "continue":
		return true, nil
	case "a", "abort":
		return true, errors.New("script aborted for user request")
	case "l", "list":
		d.list(args)
	case "w", "whole":
		d.sayLines(1, len(d.source))
	case "b", "break":
		d.setBreaks(args)
	case "m", "maxlen":
		d.setMost(args)
	case "t", "trace":
		d.trace(L)
	case "p", "print":
		if len(args) == 1 {
			d.printOne(vm, L, args[0])
		} else {
			d.printAll(vm, L)
		}
	case "e", "eval":
		d.eval(vm, L, strings.Join(args, " "))
	case "r", "redis":
		if len(args) > 0 {
			d.redis(vm, L, args)
			return false, nil
		}
		fallthrough
	default:
		d.say("<error> Unknown Redis Lua debugger command or wrong number of arguments.")
	}
	return false, nil
}

func (d *Debugger) sayLine(n int) {
	mark := [...]string{"   ", "  #", "-> ", "->#"}
	at := 0
	if d.breaksAt(n) {
		at = 1
	}
	if n == d.line {
		at += 2
	}
	text := "<out of range source code line>"
	if n >= 1 && n <= len(d.source) {
		text = d.source[n-1]
	}
	d.say("%s%-3d %s", mark[at], n, text)
}

func (d *Debugger) sayLines(first, last int) {
	for n := max(first, 1); n <= min(last, len(d.source)); n++ {
		d.sayLine(n)
	}
}

// list shows lines around one, with so many before and behind it.
func (d *Debugger) list(args []string) {
	around, context := d.line, 5
	if len(args) > 0 {
		if n, err := strconv.Atoi(args[0]); err == nil && n > 0 {
			around = n
		}
	}
	if len(args) > 1 {
		context, _ = strconv.Atoi(args[1])
	}
	context = min(context, len(d.source)+around)
	d.sayLines(around-context, around+context)
}

func (d *Debugger) breaksAt(line int) bool {
	for _, b := range d.breaks {
		if b == line {
			return true
		}
	}
	return false
}

// setBreaks shows the breakpoints, or sets and removes them.
func (d *Debugger) setBreaks(args []string) {
	if len(args) == 0 {
		if len(d.breaks) == 0 {
			d.say("No breakpoints set. Use 'b <line>' to add one.")
			return
		}
		d.say("%d breakpoints set:", len(d.breaks))
		for _, b := range d.breaks {
			d.sayLine(b)
		}
	}
	for _, arg := range args {
		n, ok := numtext.ParseInt([]byte(arg))
		switch {
		case !ok:
			d.say("Invalid argument:'%s'", arg)
		case n == 0:
			d.breaks = nil
			d.say("All breakpoints removed.")
		case n < 0:
			d.removeBreak(-n)
		case len(d.breaks) == breakpointsMax:
			d.say("Too many breakpoints set.")
		case n > int64(len(d.source)):
			d.say("Wrong line number.")
		default:
			d.breaks = append(d.breaks, int(n))
			d.sayLines(int(n)-1, int(n)+1)
		}
	}
}

func (d *Debugger) removeBreak(line int64) {
	for i, b := range d.breaks {
		if int64(b) == line {
			d.breaks = append(d.breaks[:i], d.breaks[i+1:]...)
			d.say("Breakpoint removed.")
			return
		}
	}
	d.say("No breakpoint in the specified line.")
}

func (d *Debugger) setMost(args []string) {
	if len(args) == 1 {
		n, _ := strconv.Atoi(args[0])
		if n != 0 {
			n = max(n, shownBytesMin)
		}
		d.most, d.advised = n, true
	}
	if d.most == 0 {
		d.say("<value> replies are unlimited.")
		return
	}
	d.say("<value> replies are truncated at %d bytes.", d.most)
}

// debuggerHelp are the lines of the command help.
var debuggerHelp = []string{
	"Commands of the debugger, each by its name or its first letter:",
	"help                 These lines.",
	"step, next           Execute the current line and stop again.",
	"continue             Go on to the next breakpoint or to the end.",
	"list [line] [ctx]    Source around the current line or another one.",
	"whole                All of the source.",
	"print [var]          All local variables, or one; KEYS and ARGV too.",
	"break [line]...      The breakpoints, or one more for each line.",
	"break -line          Remove the breakpoint of a line; 0: remove all.",
	"trace                The functions that have called each other.",
	"eval <code>          Run Lua code in a frame of its own.",
	"redis <cmd> [arg]... Execute a command of the server.",
	"maxlen [len]         Show so many bytes of a value, 0 for all.",
	"abort                End the script. In sync mode its changes stay.",
	"",
	"For scripts: redis.debug(...) shows values, redis.breakpoint() stops at the next line.",
}
