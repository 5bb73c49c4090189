package aof

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/covey-db/covey/internal/num"
)

// This file reads the stream of commands: requests as clients send them, one behind the other, and lines that begin with #.

// Record is a command of the stream, or a note in it.
type Record struct {
	At   int64    // offset of its first byte
	Args [][]byte // nil for a note; they live until the next call of Next
	Note []byte   // the line of a note without its end, "#TS:1628217470"
}

// Damage says why a stream cannot be read on.
type Damage struct {
	At     int64 // offset of the record that is damaged
	Place  int64 // offset of what is wrong with it
	Cut    bool  // the stream ends inside the record
	Reason string
}

// Error implements error.
func (d *Damage) Error() string { return fmt.Sprintf("offset %d: %s", d.Place, d.Reason) }

const (
	scanBytes    = 64 << 10       // first size of the buffer
	numberMax    = 128            // a line with a count is shorter than this
	noteMax      = 1024           // and so is a note
	keepBytes    = 1 << 20        // a buffer that grew above this is given up after its record
	argumentsMax = 1024 * 1024    // arguments of a command
	stringMax    = int64(1) << 40 // bytes of an argument; what is really there bounds it first
)

// Scanner reads a stream of commands. It belongs to one goroutine.
type Scanner struct {
	r     io.Reader
	buf   []byte // buf[from:end] is read and not used up
	from  int    // where the record under way begins
	at    int    // where its next part begins
	end   int
	base  int64 // offset of buf[0]
	lines int64
	spans [][2]int // of the arguments, relative to from
	args  [][]byte
}

// NewScanner reads a stream whose first byte is at offset of its file.
func NewScanner(r io.Reader, offset int64) *Scanner {
	return &Scanner{r: r, buf: make([]byte, scanBytes), base: offset, lines: 1}
}

// Offset is where the next record begins.
func (s *Scanner) Offset() int64 { return s.base + int64(s.from) }

// Line is the line of the next part of the stream, from 1: every count and every argument takes one.
func (s *Scanner) Line() int64 { return s.lines }

// Next reads a record. The error is io.EOF at the end of the stream, *Damage, or what the reader returned.
func (s *Scanner) Next() (Record, error) {
	s.from = s.at
	if s.from == s.end && len(s.buf) > keepBytes {
		s.base += int64(s.from)
		s.buf, s.from, s.at, s.end = make([]byte, scanBytes), 0, 0, 0
	}
	if err := s.need(1); err != nil {
		if errors.Is(err, errShort) {
			return Record{}, io.EOF
		}
		return Record{}, err
	}
	switch s.buf[s.at] {
	case '#':
		line, err := s.line(noteMax)
		return Record{At: s.Offset(), Note: line}, err
	case '*':
		return s.command()
	}
	return Record{}, s.damage("expected * or #, got " + strconv.QuoteRune(rune(s.buf[s.at])))
}

// errShort says that the stream ended.
var errShort = errors.New("short")

func (s *Scanner) damage(reason string) error {
	return &Damage{At: s.Offset(), Place: s.base + int64(s.at), Reason: reason}
}

func (s *Scanner) cut() error {
	return &Damage{At: s.Offset(), Place: s.base + int64(s.end), Cut: true, Reason: "the file ends inside a command"}
}

// need makes n bytes from at on ready, or returns errShort. The buffer grows as they arrive, whatever n says.
func (s *Scanner) need(n int64) error {
	for int64(s.end-s.at) < n {
		if s.end == len(s.buf) {
			s.room()
		}
		got, err := s.r.Read(s.buf[s.end:])
		s.end += got
		if got > 0 {
			continue
		}
		if err == io.EOF {
			return errShort
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// room makes room at the end of the buffer.
func (s *Scanner) room() {
	kept := s.end - s.from
	to := s.buf
	if kept > len(s.buf)/2 {
		to = make([]byte, 2*len(s.buf))
	}
	copy(to, s.buf[s.from:s.end])
	s.base += int64(s.from)
	s.at -= s.from
	s.buf, s.from, s.end = to, 0, kept
}

// line reads up to the end of a line, which has fewer than most bytes.
func (s *Scanner) line(most int) ([]byte, error) {
	for looked := 0; ; {
		if i := bytes.IndexByte(s.buf[s.at+looked:s.end], '\n'); i >= 0 {
			line := s.buf[s.at : s.at+looked+i]
			if len(line) == 0 || line[len(line)-1] != '\r' {
				return nil, s.damage("expected \\r\\n at the end of a line")
			}
			s.at += len(line) + 1
			return line[:len(line)-1], nil
		}
		looked = s.end - s.at
		if looked >= most {
			return nil, s.damage("a line is too long")
		}
		if err := s.need(int64(looked) + 1); err != nil {
			if errors.Is(err, errShort) {
				err = s.cut()
			}
			return nil, err
		}
	}
}

// count reads a line with a number behind prefix.
func (s *Scanner) count(prefix byte, least, most int64) (int64, error) {
	if err := s.need(1); err != nil {
		if errors.Is(err, errShort) {
			err = s.cut()
		}
		return 0, err
	}
	if got := s.buf[s.at]; got != prefix {
		return 0, s.damage("expected " + string(rune(prefix)) + ", got " + strconv.QuoteRune(rune(got)))
	}
	before := s.at - s.from
	line, err := s.line(numberMax)
	if err != nil {
		return 0, err
	}
	n, ok := num.ParseInt(line[1:])
	if !ok || n < least || n > most {
		s.at = s.from + before
		return 0, s.damage(fmt.Sprintf("bad count %q", line))
	}
	s.lines++
	return n, nil
}

func (s *Scanner) command() (Record, error) {
	argc, err := s.count('*', 1, argumentsMax)
	if err != nil {
		return Record{}, err
	}
	s.spans = s.spans[:0]
	for range argc {
		size, err := s.count('$', 0, stringMax)
		if err != nil {
			return Record{}, err
		}
		if err := s.need(size + 2); err != nil {
			if errors.Is(err, errShort) {
				err = s.cut()
			}
			return Record{}, err
		}
		end := s.at + int(size)
		if s.buf[end] != '\r' || s.buf[end+1] != '\n' {
			s.at = end
			return Record{}, s.damage("expected \\r\\n behind an argument")
		}
		s.spans = append(s.spans, [2]int{s.at - s.from, end - s.from})
		s.at = end + 2
		s.lines++
	}
	s.args = s.args[:0]
	for _, sp := range s.spans {
		s.args = append(s.args, s.buf[s.from+sp[0]:s.from+sp[1]:s.from+sp[1]])
	}
	return Record{At: s.Offset(), Args: s.args}, nil
}

const timestampNote = "#TS:"

// AppendTimestamp appends a note of the time at which what follows was done, in seconds since 1970.
func AppendTimestamp(dst []byte, seconds int64) []byte {
	dst = append(dst, timestampNote...)
	dst = strconv.AppendInt(dst, seconds, 10)
	return append(dst, "\r\n"...)
}

// Timestamp reads a note of a time; false when it is a note of something else.
func Timestamp(note []byte) (seconds int64, ok bool) {
	digits, is := bytes.CutPrefix(note, []byte(timestampNote))
	if !is {
		return 0, false
	}
	return num.ParseInt(digits)
}

// rdbMagic is what a base in the format of RDB begins with.
const rdbMagic = "REDIS"

// HeadBytes is how much of a file IsRDB wants to see.
const HeadBytes = len(rdbMagic)

// IsRDB says whether a file that begins with head has the format of RDB, at least up to the end of a base.
func IsRDB(head []byte) bool { return string(head) == rdbMagic }
