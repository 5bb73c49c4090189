package resp

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// outcome is what a stream of bytes does to a Parser: the commands in it, and how it ends.
type outcome struct {
	commands [][]string
	fault    string // text of the protocol error
	rest     int    // bytes of a command that is incomplete
}

func (o outcome) String() string {
	return fmt.Sprintf("%q, error %q, %d bytes left", o.commands, o.fault, o.rest)
}

func (o outcome) equal(other outcome) bool {
	return o.fault == other.fault && o.rest == other.rest && slices.EqualFunc(o.commands, other.commands, slices.Equal)
}

// feed passes a stream to a Parser in the given pieces, each time in a buffer of its own, as a connection does whose
// buffer moves and is used for other things in between. Another Parser shares the Command.
func feed(t rapid.TB, limits Limits, pieces ...[]byte) (o outcome) {
	p := Parser{Limits: limits}
	var cmd Command
	var pending []byte
	for _, piece := range pieces {
		pending = append(bytes.Clone(pending), piece...)
		for len(pending) > 0 {
			n, err := p.Parse(pending, &cmd)
			if err != nil {
				var protocol *ProtocolError
				if n != 0 || !errors.As(err, &protocol) {
					t.Fatalf("%d, %v (%T)", n, err, err)
				}
				o.fault = protocol.Text
				return o
			}
			if n == 0 {
				break
			}
			o.commands = append(o.commands, texts(cmd.Args))
			pending = pending[n:]
			if p.Need() != 0 {
				t.Fatalf("needs %d bytes after a command", p.Need())
			}
		}
		var other Parser
		if n, err := other.Parse([]byte("*2\r\n$1\r\na\r\n$1\r\nb\r\n"), &cmd); n == 0 || err != nil {
			t.Fatal(n, err)
		}
	}
	o.rest = len(pending)
	return o
}

func texts(args [][]byte) []string {
	all := make([]string, len(args))
	for i, arg := range args {
		all[i] = string(arg)
		if cap(arg) != len(arg) {
			panic("an append to an argument would run into the next one")
		}
	}
	return all
}

// feedAllWays checks that a stream means the same however it is cut.
func feedAllWays(t rapid.TB, limits Limits, stream []byte) outcome {
	whole := feed(t, limits, stream)
	for cut := range stream {
		if got := feed(t, limits, stream[:cut], stream[cut:]); !got.equal(whole) {
			t.Fatalf("%q cut at %d: %v; in one: %v", stream, cut, got, whole)
		}
	}
	if got := feed(t, limits, slices.Collect(slices.Chunk(stream, 1))...); !got.equal(whole) {
		t.Fatalf("%q byte by byte: %v; in one: %v", stream, got, whole)
	}
	return whole
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		stream string
		want   [][]string
		rest   int
	}{
		{"*1\r\n$4\r\nPING\r\n", [][]string{{"PING"}}, 0},
		{"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n*1\r\n$4\r\nPING\r\n", [][]string{{"SET", "k", "v"}, {"PING"}}, 0},
		{"*0\r\n", [][]string{{}}, 0},                                                         // c177a
		{"*-1\r\n", [][]string{{}}, 0},                                                        // c178a
		{"*-9223372036854775808\r\n*1\r\n$1\r\na\r\n", [][]string{{}, {"a"}}, 0},              // neighbour of c178a
		{"*1\r\n$0\r\n\r\n", [][]string{{""}}, 0},                                             // e004
		{"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$0\r\n\r\n", [][]string{{"SET", "", ""}}, 0},           // e005
		{"*2\r\n$3\r\nGET\r\n$4\r\n\r\n\x00\xff\r\n", [][]string{{"GET", "\r\n\x00\xff"}}, 0}, // e013
		{"*1\r\n$10\r\n0123456789\r\n", [][]string{{"0123456789"}}, 0},
		{"*10\r\n" + strings.Repeat("$1\r\na\r\n", 10), [][]string{slices.Repeat([]string{"a"}, 10)}, 0},
		{"*100\r\n" + strings.Repeat("$1\r\na\r\n", 100), [][]string{slices.Repeat([]string{"a"}, 100)}, 0},
		{"*1\r\n$100\r\n" + strings.Repeat("x", 100) + "\r\n", [][]string{{strings.Repeat("x", 100)}}, 0},
		{"*1\r\n$4\r\nPI", nil, 10},
		{"*1\r", nil, 3},
		{"*", nil, 1},
		{"*2\r\n$4\r\nPING\r\n", nil, 14},
		{"*2\r\n$4\r\nPING\r\n$", nil, 15},
		{"*2\r\n$4\r\nPING\r\n$1", nil, 16},
		{"*2\r\n$4\r\nPING\r\n$100", nil, 18},
		// Like Redis, the byte behind a CR is not looked at, nor the two behind an argument.
		{"*1\rx$4\ryPINGab*1\r\n$1\r\na\r\n", [][]string{{"PING"}, {"a"}}, 0},
		{"\r\n", [][]string{{}}, 0},
		{"\n", [][]string{{}}, 0},
		{"   \r\n", [][]string{{}}, 0},
		{"PING\r\n", [][]string{{"PING"}}, 0},
		{"PING", nil, 4},
		{"  PING\n\tECHO  \t hi \n", [][]string{{"PING"}, {"ECHO", "hi"}}, 0},                                     // e001
		{"SET k \"\"\r\nSTRLEN k\r\nECHO ''\r\n", [][]string{{"SET", "k", ""}, {"STRLEN", "k"}, {"ECHO", ""}}, 0}, // e003
		{"PING\r\n*1\r\n$4\r\nPING\r\nECHO *\r\n", [][]string{{"PING"}, {"PING"}, {"ECHO", "*"}}, 0},
		{"PING\r\r\n", [][]string{{"PING"}}, 0},
	} {
		want := outcome{commands: c.want, rest: c.rest}
		if got := feedAllWays(t, Limits{}, []byte(c.stream)); !got.equal(want) {
			t.Errorf("%q: %v; want %v", c.stream, got, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	const (
		badCount  = "Protocol error: invalid multibulk length"
		badLength = "Protocol error: invalid bulk length"
		open      = "Protocol error: unbalanced quotes in request"
	)
	for _, c := range []struct {
		stream, want string
	}{
		{"*3000000000\r\n", badCount},              // c178c
		{"*2147483648\r\n", badCount},              // the first that is too many
		{"*9223372036854775807\r\n", badCount},     // c178d
		{"*92233720368547758070000\r\n", badCount}, // c178e
		{"*12x\r\n", badCount},                     // c178f
		{"*+1\r\n", badCount},                      // c178h
		{"* 1\r\n", badCount},                      // c178h
		{"*\r\n", badCount},                        // neighbours
		{"*01\r\n$4\r\nPING\r\n", badCount},
		{"*-0\r\n", badCount},
		{"*1\x00\r\n$4\r\nPING\r\n", badCount},
		{"*2\r\n$3\r\nGET\r\n$-1\r\n", badLength},            // c173a
		{"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$-2\r\n", badLength}, // c178j
		{"*1\r\n$18446744073709551616\r\n", badLength},       // c178k
		{"*2\r\n$4\r\nECHO\r\n$536870913\r\n", badLength},    // c178m
		{"*1\r\n$9223372036854775807\r\n", badLength},
		{"*1\r\n$4a\r\nPING\r\n", badLength}, // c178n
		{"*1\r\n$\r\nPING\r\n", badLength},
		{"*1\r\n$04\r\nPING\r\n", badLength},
		{"*1\r\n$004\r\nPING\r\n", badLength},
		{"*1\r\n$+4\r\nPING\r\n", badLength},
		{"*1\r\n:4\r\n", "Protocol error: expected '$', got ':'"}, // c179a
		{"*1\r\n\r\n", "Protocol error: expected '$', got '\r'"},  // c179c, a blank when it is sent
		{"*1\r\nx\r\n", "Protocol error: expected '$', got 'x'"},
		{"*1\r\n\x00\r\n", "Protocol error: expected '$', got '\x00'"},
		{"SET k \"abc\r\n", open},  // c179d
		{"SET k 'ab\\'\r\n", open}, // c179f
		{"SET k \"a\"b\r\n", open},
		{"\"\n", open},
	} {
		want := outcome{fault: c.want}
		if got := feedAllWays(t, Limits{}, []byte(c.stream)); !got.equal(want) {
			t.Errorf("%q: %v; want %v", c.stream, got, want)
		}
	}
	// e006: what came before garbage runs.
	stream := "*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$1\r\n1\r\n*1\r\n$-5\r\n*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$1\r\n2\r\n"
	want := outcome{commands: [][]string{{"SET", "x", "1"}}, fault: badLength}
	if got := feedAllWays(t, Limits{}, []byte(stream)); !got.equal(want) {
		t.Errorf("%v", got)
	}
}

// The lines that have no end within the limit, at the limit to the byte, whatever the pieces they come in.
func TestParseLongLines(t *testing.T) {
	for _, c := range []struct {
		name, start, fault string
		end                string // makes the line complete
		ends               string // error of the complete line; "" when it is a command
	}{
		{"inline", "A", "Protocol error: too big inline request", "\n", ""}, // c179g
		{"count", "*1", "Protocol error: too big mbulk count string", "\r\n", "Protocol error: invalid multibulk length"},
		{"length", "$1", "Protocol error: too big bulk count string", "\r\n", "Protocol error: invalid bulk length"}, // c179i
	} {
		before := ""
		if c.name == "length" {
			before = "*1\r\n"
		}
		fits := before + c.start + strings.Repeat("1", defaultMaxInline-len(c.start))
		for _, pieces := range []int{100, 16384, 1 << 20} {
			run := func(stream string) outcome {
				return feed(t, Limits{}, slices.Collect(slices.Chunk([]byte(stream), pieces))...)
			}
			if got := run(fits); got.fault != "" || got.rest != len(fits) {
				t.Errorf("%s of 65536 bytes: %.100v", c.name, got)
			}
			if got := run(fits + c.end); got.fault != c.ends || (c.ends == "") != (len(got.commands) == 1) {
				t.Errorf("%s of 65536 bytes with its end: %.100v", c.name, got.fault)
			}
			if got := run(fits + "1"); got.fault != c.fault {
				t.Errorf("%s of 65537 bytes: %q", c.name, got.fault)
			}
			if got := run(fits + "11111" + c.end); got.fault != c.fault {
				t.Errorf("%s that ends too late: %q", c.name, got.fault)
			}
		}
	}
}

func TestParseUnauthenticated(t *testing.T) {
	limits := Limits{Unauthenticated: true}
	bulk := func(n int) string { return fmt.Sprintf("$%d\r\n%s\r\n", n, strings.Repeat("a", n)) }
	for _, c := range []struct {
		stream, fault string
		commands      int
	}{
		{"*11\r\n", "Protocol error: unauthenticated multibulk length", 0},     // c174a
		{"*1\r\n$16385\r\n", "Protocol error: unauthenticated bulk length", 0}, // c174c
		{"*2\r\n$4\r\nECHO\r\n" + bulk(16384), "", 1},                          // c174d
		{"*10\r\n" + strings.Repeat(bulk(1), 10), "", 1},
		{"*10\r\n" + strings.Repeat(bulk(1), 9) + "$16385\r\n", "Protocol error: unauthenticated bulk length", 0},
		{"*12x\r\n", "Protocol error: invalid multibulk length", 0}, // the worse error first
		{"*1\r\n$536870913\r\n", "Protocol error: invalid bulk length", 0},
		{"*1\r\n$-1\r\n", "Protocol error: invalid bulk length", 0},
		{strings.Repeat("a ", 20) + "\r\n", "", 1}, // inline commands are bound by their line
	} {
		if got := feed(t, limits, []byte(c.stream)); got.fault != c.fault || len(got.commands) != c.commands {
			t.Errorf("%.40q: %.100v", c.stream, got)
		}
	}
	// c174f, c174g: the limits of each command are those at the moment when it is read.
	p := Parser{Limits: limits}
	var cmd Command
	stream := []byte("*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n*11\r\n" + strings.Repeat(bulk(1), 11))
	n, err := p.Parse(stream, &cmd)
	if err != nil || len(cmd.Args) != 2 {
		t.Fatal(n, err)
	}
	p.Limits.Unauthenticated = false
	if n, err = p.Parse(stream[n:], &cmd); err != nil || len(cmd.Args) != 11 {
		t.Fatal(n, err)
	}
}

func TestParseOtherLimits(t *testing.T) {
	limits := Limits{MaxBulk: 5, MaxArgs: 2, MaxInline: 8}
	for _, c := range []struct {
		stream, fault string
	}{
		{"*1\r\n$5\r\nabcde\r\n", ""},
		{"*1\r\n$6\r\nabcdef\r\n", "Protocol error: invalid bulk length"},
		{"*3\r\n", "Protocol error: invalid multibulk length"},
		{"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", "Protocol error: invalid multibulk length"},
		{"12345678\n", ""},
		{"123456789", "Protocol error: too big inline request"},
		{"123456789\n", "Protocol error: too big inline request"},
	} {
		if got := feed(t, limits, []byte(c.stream)); got.fault != c.fault {
			t.Errorf("%q: %v", c.stream, got)
		}
	}
	p := Parser{Limits: Limits{MaxBulk: math.MaxInt64}} // a link from a master
	var cmd Command
	if n, err := p.Parse([]byte("*1\r\n$9223372036854775807\r\n"), &cmd); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if p.Need() != math.MaxInt {
		t.Errorf("needs %d", p.Need())
	}
}

func TestNeed(t *testing.T) {
	stream := []byte("*2\r\n$3\r\nSET\r\n$1000\r\n" + strings.Repeat("x", 1000) + "\r\n")
	header := bytes.Index(stream, []byte("xxx"))
	var p Parser
	var cmd Command
	for have := range stream {
		if n, err := p.Parse(stream[:have], &cmd); n != 0 || err != nil {
			t.Fatal(have, n, err)
		}
		want := 0
		switch {
		case have >= header:
			want = len(stream) - have
		case have >= 8 && have < 13:
			want = 13 - have // of "SET"
		}
		if p.Need() != want {
			t.Errorf("with %d bytes it needs %d, want %d", have, p.Need(), want)
		}
	}
	if n, err := p.Parse(stream, &cmd); n != len(stream) || err != nil || p.Need() != 0 {
		t.Fatal(n, err, p.Need())
	}
	p.Parse(stream[:header], &cmd)
	p.Reset()
	if n, err := p.Parse(setCommand, &cmd); n != len(setCommand) || err != nil {
		t.Errorf("after Reset: %d, %v", n, err)
	}
}

// A command that announces much reserves nothing until it is there (c176).
func TestAnnouncedLengthsReserveNothing(t *testing.T) {
	stream := []byte("*1000000\r\n$536870912\r\n")
	var cmd Command
	allocated := testing.AllocsPerRun(10, func() {
		var p Parser
		if n, err := p.Parse(stream, &cmd); n != 0 || err != nil {
			t.Fatal(n, err)
		}
	})
	if allocated != 0 || cap(cmd.Args) > 0 {
		t.Errorf("%v allocations, %d arguments", allocated, cap(cmd.Args))
	}
}

// A command of very many arguments does not keep its room for ever.
func TestRoomIsGivenBack(t *testing.T) {
	many := AppendArray(nil, keptArgsMax+1)
	many = append(many, bytes.Repeat([]byte("$1\r\na\r\n"), keptArgsMax+1)...)
	var p Parser
	var cmd Command
	for _, stream := range [][]byte{many, setCommand, []byte("PING\r\n"), many, []byte("PING\r\n"), setCommand} {
		if n, err := p.Parse(stream, &cmd); n != len(stream) || err != nil {
			t.Fatal(n, err)
		}
		if len(cmd.Args) < 10 && cap(cmd.Args) > keptArgsMax {
			t.Errorf("room for %d arguments", cap(cmd.Args))
		}
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	inline := []byte("SET key \"va lue\"\r\n")
	line := make([]byte, len(inline))
	var p Parser
	var cmd Command
	p.Parse(setCommand, &cmd)
	for name, run := range map[string]func(){
		"whole":  func() { p.Parse(setCommand, &cmd) },
		"pieces": func() { p.Parse(setCommand[:20], &cmd); p.Parse(setCommand, &cmd) },
		"inline": func() { copy(line, inline); p.Parse(line, &cmd) },
	} {
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Any command survives AppendCommand and Parse, in any pieces.
func TestCommandRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 20), 1, 120)
		var stream []byte
		var want outcome
		for _, args := range rapid.SliceOfN(command, 1, 4).Draw(t, "commands") {
			stream = AppendCommand(stream, args...)
			want.commands = append(want.commands, texts(clipped(args)))
		}
		var pieces [][]byte
		for rest := stream; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		if got := feed(t, Limits{}, pieces...); !got.equal(want) {
			t.Fatalf("%v", got)
		}
	})
}

func clipped(args [][]byte) [][]byte {
	for i := range args {
		args[i] = slices.Clip(args[i])
	}
	return args
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n12\r\n", "SET k \"a\\x41\\n\" 'b'\r\n", "*-1\r\n*0\r\n\r\n*2\r\n$-1\r\n",
		"*12\r\n$100\r\n", "*1\r\n$3\r\nabc\r\nPING\n*1\r\n:"} {
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, stream []byte, unauthenticated bool) {
		if len(stream) > 300 { // every cut is tried
			return
		}
		limits := Limits{MaxBulk: 200, MaxArgs: 150, MaxInline: 100, Unauthenticated: unauthenticated}
		feedAllWays(t, limits, stream)
	})
}

var setCommand = []byte("*3\r\n$3\r\nSET\r\n$16\r\nkey:000000012345\r\n$32\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n")

func BenchmarkParse(b *testing.B) {
	bulk := func(n int) []byte {
		return AppendCommand(nil, []byte("SET"), []byte("key"), bytes.Repeat([]byte("x"), n))
	}
	for _, c := range []struct {
		name   string
		stream []byte
	}{
		{"get", AppendCommand(nil, []byte("GET"), []byte("key:000000012345"))},
		{"set", setCommand},
		{"set4096", bulk(4096)},
		{"mset10", AppendCommand(nil, slices.Repeat([][]byte{[]byte("MSET"), []byte("key:12345")}, 10)...)},
		{"args200", AppendCommand(nil, slices.Repeat([][]byte{[]byte("member")}, 200)...)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var p Parser
			var cmd Command
			b.ReportAllocs()
			for b.Loop() {
				if n, err := p.Parse(c.stream, &cmd); n != len(c.stream) || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
	b.Run("pieces", func(b *testing.B) { // 1 MB in pieces of 16 KB
		stream := bulk(1 << 20)
		var p Parser
		var cmd Command
		b.ReportAllocs()
		for b.Loop() {
			for have := 16384; ; have += 16384 {
				if n, _ := p.Parse(stream[:min(have, len(stream))], &cmd); n > 0 {
					break
				}
			}
		}
	})
}
