// Package resp holds the Redis protocol, versions 2 and 3: the server's side (Parser reads commands, the Append functions
// write replies) and the client's (AppendCommand writes commands, ParseReply reads replies).
package resp

import (
	"bytes"
	"math"

	"github.com/covey-db/covey/internal/num"
)

// Version is the protocol version that a connection speaks.
type Version uint8

// The versions there are; HELLO switches between them.
const (
	RESP2 Version = 2
	RESP3 Version = 3
)

const (
	defaultMaxBulk   = 512 << 20 // bytes, the default of proto-max-bulk-len
	defaultMaxArgs   = math.MaxInt32
	defaultMaxInline = 64 << 10 // bytes of an inline command or of a header line

	// What a connection that has not authenticated may send: enough for HELLO with AUTH and SETNAME.
	unauthenticatedMaxArgs = 10
	unauthenticatedMaxBulk = 16384 // bytes

	// keptArgsMax is the length of the argument slice that a Command may keep for its next use: 384 KB.
	keptArgsMax = 16384
)

// Limits bound what a Parser accepts. Zero stands for the default of a field.
type Limits struct {
	MaxBulk         int64 // bytes of one argument, proto-max-bulk-len; links from a master take math.MaxInt64
	MaxArgs         int64 // arguments of one command; 2^31-1
	MaxInline       int   // bytes of an inline command, and of the header line of a command or argument; 65536
	Patience        int64 // a command with so many arguments is not returned, see Waits; 0 for no such number
	Unauthenticated bool  // the connection has still to authenticate: 10 arguments of 16384 bytes are enough
}

// Command is one command with its arguments; the name is the first. It is empty for a line without words and for "*0".
// The arguments point into the buffer that was parsed and live as long as it keeps its bytes.
type Command struct {
	Args [][]byte
}

// Parser finds the commands in what a connection sends. The zero value is ready to use, with the default limits. A Parser
// that has seen half a command remembers how far it came, so that no argument is looked at twice however slowly it arrives.
type Parser struct {
	Limits Limits // may change between calls

	// The state of a command that is not there as a whole; all zero before a command. Positions count from its start.
	total   int64 // arguments that its first line announced; 0 while that line is incomplete
	seen    int64 // arguments that are there from end to end
	pos     int   // start of the first header line or argument that is incomplete
	scanned int   // bytes from pos on that were searched for a line end
	bulk    int64 // length of the argument that starts at pos, when inBulk
	inBulk  bool  // pos is at the bytes of an argument, not at a header line
	missing int   // bytes that the argument at pos still needs
}

// Reset forgets half a command, for a connection that starts anew.
func (p *Parser) Reset() { *p = Parser{Limits: p.Limits} }

// Need is how many bytes are known to be missing of the argument that Parse waits for, line end included; 0 when that is
// unknown. It repeats what the client announced, which is a hint for the size of the next read and no reason to allocate.
func (p *Parser) Need() int { return p.missing }

// Waits says whether the last Parse stopped before a command that is there as a whole, because Limits.Patience says so.
func (p *Parser) Waits() bool { return p.pos > 0 && p.seen == p.total && p.total > 0 }

// Behind is how many bytes at the start of the buffer are done with while Parse waits for the rest of an argument: headers,
// and arguments that are there from end to end.
func (p *Parser) Behind() int {
	if !p.inBulk {
		return 0
	}
	return p.pos
}

// Parse takes one command from the start of buf. n is the number of bytes used; n == 0 without an error means that more is
// needed: the next call must pass the same bytes again, with more behind them. The buffer may have moved in between, and
// cmd may have served another Parser: it is written only when a command is complete. The quotes of an inline command are
// resolved in place, over its line in buf. An error is a *ProtocolError and final: the connection is of no more use.
func (p *Parser) Parse(buf []byte, cmd *Command) (n int, err error) {
	if p.pos == 0 && p.scanned == 0 && !p.Limits.Unauthenticated {
		if n := p.whole(buf, cmd); n > 0 {
			return n, nil
		}
	}
	return p.resume(buf, cmd)
}

// Whole is Parse for a look at what follows: it knows a command only if that is the common case and there as a whole. It
// changes neither the Parser nor buf; n is 0 for anything else.
func (p *Parser) Whole(buf []byte, cmd *Command) (n int) {
	if p.pos != 0 || p.scanned != 0 || p.Limits.Unauthenticated {
		return 0
	}
	return p.whole(buf, cmd)
}

func (p *Parser) maxBulk() int64 {
	if p.Limits.MaxBulk == 0 {
		return defaultMaxBulk
	}
	return p.Limits.MaxBulk
}

// argumentBytesMin is the length of the shortest argument, "$0\r\n\r\n".
const argumentBytesMin = 6

// whole is the common case: a command that is in buf from end to end and has nothing odd about it. It returns 0 to
// leave all else, and every error, to the careful code.
func (p *Parser) whole(buf []byte, cmd *Command) int {
	if len(buf) < 5 || buf[0] != '*' {
		return 0
	}
	count, pos, ok := shortNumber(buf[1], buf[2], buf[3], 4)
	if !ok {
		count, pos = longNumber(buf, 1)
	}
	if count == 0 || count > (len(buf)-pos)/argumentBytesMin || int64(count) > p.maxArgs() {
		return 0
	}
	maxBulk := p.maxBulk()
	args := cmd.room(count)
	for i := range args {
		if pos+4 > len(buf) || buf[pos] != '$' {
			return 0
		}
		length, start, ok := shortNumber(buf[pos+1], buf[pos+2], buf[pos+3], pos+4)
		if !ok {
			if length, start = longNumber(buf, pos+1); start == 0 {
				return 0
			}
		}
		end := start + length
		if end+2 > len(buf) || int64(length) > maxBulk {
			return 0
		}
		args[i] = buf[start:end:end]
		pos = end + 2
	}
	cmd.Args = args
	return pos
}

// shortNumber reads a number of one or two digits with its line end, of which the last byte is not looked at. oneDigit is
// where the next line starts when there is one digit.
func shortNumber(a, b, c byte, oneDigit int) (n, next int, ok bool) {
	first, second := a-'0', b-'0'
	if b == '\r' {
		return int(first), oneDigit, first <= 9
	}
	return int(first)*10 + int(second), oneDigit + 1, c == '\r' && first-1 <= 8 && second <= 9
}

// longNumber reads a number of three to eight digits that starts at pos. next is where the next line starts, or 0 when it
// is something else, or not there as a whole.
func longNumber(buf []byte, pos int) (n, next int) {
	const digitsMax = 8
	line := buf[pos:min(len(buf), pos+digitsMax+1)]
	if line[0]-'1' > 8 {
		return 0, 0
	}
	for i, c := range line {
		digit := c - '0'
		if digit > 9 {
			if c == '\r' {
				return n, pos + i + 2
			}
			return 0, 0
		}
		n = n*10 + int(digit)
	}
	return 0, 0
}

// room is space for n arguments in the slice that cmd has; a new one when it is too small, or too big to be kept.
func (cmd *Command) room(n int) [][]byte {
	if cap(cmd.Args) < n || cap(cmd.Args) > keptArgsMax {
		cmd.Args = make([][]byte, 0, max(n, 8))
	}
	return cmd.Args[:n]
}

// resume is the careful code: it goes on where the last call stopped.
func (p *Parser) resume(buf []byte, cmd *Command) (n int, err error) {
	if len(buf) == 0 {
		return 0, nil
	}
	if buf[0] != '*' {
		return p.inline(buf, cmd)
	}
	if p.pos == 0 {
		if ok, err := p.count(buf); !ok {
			return 0, err
		}
	}
	p.missing = 0
	for p.seen < p.total {
		if ok, err := p.argument(buf); !ok {
			return 0, err
		}
	}
	if p.Limits.Patience > 0 && p.total >= p.Limits.Patience {
		return 0, nil
	}
	n = p.pos
	collect(buf, cmd, int(p.total))
	p.Reset()
	return n, nil
}

// count reads the first line of a command, "*<number of arguments>".
func (p *Parser) count(buf []byte) (ok bool, err error) {
	line, ok, err := p.line(buf, errBigCount)
	if !ok {
		return false, err
	}
	total, ok := num.ParseInt(line[1:])
	switch {
	case !ok || total > p.maxArgs():
		return false, errBadCount
	case total > unauthenticatedMaxArgs && p.Limits.Unauthenticated:
		return false, errUnauthenticatedCount
	}
	p.total = max(total, 0) // the null array too is an empty command
	p.nextLine(line)
	return true, nil
}

func (p *Parser) maxArgs() int64 {
	if p.Limits.MaxArgs == 0 {
		return defaultMaxArgs
	}
	return p.Limits.MaxArgs
}

// argument goes over one argument, "$<length>" and its bytes; it is false without an error when more is needed.
func (p *Parser) argument(buf []byte) (ok bool, err error) {
	if !p.inBulk {
		if ok, err := p.length(buf); !ok {
			return false, err
		}
	}
	have := int64(len(buf) - p.pos)
	if have-2 < p.bulk {
		p.missing = int(min(p.bulk-have, math.MaxInt-2)) + 2
		return false, nil
	}
	p.pos += int(p.bulk) + 2
	p.seen++
	p.inBulk = false
	return true, nil
}

// length reads the header line of an argument.
func (p *Parser) length(buf []byte) (ok bool, err error) {
	line, ok, err := p.line(buf, errBigLength)
	if !ok {
		return false, err
	}
	if buf[p.pos] != '$' {
		return false, &ProtocolError{Text: "Protocol error: expected '$', got '" + string(buf[p.pos:p.pos+1]) + "'"}
	}
	length, ok := num.ParseInt(line[1:])
	switch {
	case !ok || length < 0 || length > p.maxBulk():
		return false, errBadLength
	case length > unauthenticatedMaxBulk && p.Limits.Unauthenticated:
		return false, errUnauthenticatedLength
	}
	p.bulk, p.inBulk = length, true
	p.nextLine(line)
	return true, nil
}

// line is the header line at pos, up to its CR; it is there only when the byte behind the CR is too, which is taken for the
// LF without a look, as Redis does. tooBig is the error of a line that does not end within the limit.
func (p *Parser) line(buf []byte, tooBig error) (line []byte, ok bool, err error) {
	end := p.search(buf, '\r')
	if end < 0 {
		if len(buf)-p.pos > p.maxInline() {
			return nil, false, tooBig
		}
		return nil, false, nil
	}
	return buf[p.pos:end], end+1 < len(buf), nil
}

// nextLine moves to the line after line, which was read at pos.
func (p *Parser) nextLine(line []byte) {
	p.pos += len(line) + 2
	p.scanned = 0
}

// search looks for a byte from pos on, but not where it looked before, nor beyond the limit of a line. It is where the byte
// is, or -1.
func (p *Parser) search(buf []byte, c byte) int {
	from := p.pos + p.scanned
	to := min(len(buf), p.pos+p.maxInline()+1)
	if from >= to {
		return -1
	}
	i := bytes.IndexByte(buf[from:to], c)
	if i < 0 {
		p.scanned = to - p.pos
		return -1
	}
	p.scanned += i
	return from + i
}

func (p *Parser) maxInline() int {
	if p.Limits.MaxInline == 0 {
		return defaultMaxInline
	}
	return p.Limits.MaxInline
}

// collect fills cmd with the arguments of a command that was checked and is in buf from end to end.
func collect(buf []byte, cmd *Command, total int) {
	args := cmd.room(total)
	pos := bytes.IndexByte(buf, '\r') + 2
	for i := range args {
		length := 0
		for pos++; buf[pos] != '\r'; pos++ {
			length = length*10 + int(buf[pos]-'0')
		}
		start := pos + 2
		end := start + length
		args[i] = buf[start:end:end]
		pos = end + 2
	}
	cmd.Args = args
}
