// Package casefile reads the acceptance cases of tests/cases. A file looks like this:
//
//	# A comment.
//	case e100 [single] two waiters are served in order
//	  @b !BLPOP k 0
//	  blocked 1
//	  RPUSH k 1 2            => :2
//	  @b ?                   => ["k" "1"]
//	  raw "*0\r\n" "A"*3
//	    +OK
//	    ping
//
// A step is indented by two blanks. It is a command, on connection a to node 0 or on that which @2b names (connection b to
// node 2), with the pattern of its reply behind "=>"; without a pattern any reply will do. "!" before the command sends it
// without reading, "?" reads one reply. Words may be quoted; "x"*3 repeats and "a"+"b" joins. The other steps:
//
//	@b quiet       nothing arrives on the connection
//	@b closed      the server closes the connection
//	blocked 2      waits until the node has that many blocked clients
//	pause 50ms     lets time pass where time is what is tested
//	raw ...        bytes on a fresh connection to node 0; the lines below, indented by four, are its replies in order,
//	               then "open" (nothing more comes), "closed" (the server closes) or "ping" (PING is answered)
package casefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// Case is one acceptance case.
type Case struct {
	ID       string // as in "c141"
	Topology string // as testkit.StartTopology calls it
	Title    string
	File     string // base name without extension: the section
	Line     int
	Steps    []Step
}

// Verb says what a step does.
type Verb int

// The verbs.
const (
	Do      Verb = iota // send a command, read its reply
	Send                // send a command
	Read                // read a reply
	Quiet               // nothing arrives
	Closed              // the server closes
	Blocked             // wait for Count blocked clients
	Pause               // let Pause pass
	Raw                 // Bytes on a fresh connection; Replies, then End
)

// Step is one line of a case.
type Step struct {
	Line    int
	Text    string // as written
	Verb    Verb
	Node    int
	Conn    string   // name of the connection to the node
	Args    []string // Do, Send
	Want    string   // Do, Read: the pattern, "any" if none was given
	Count   int
	Pause   time.Duration
	Bytes   []byte
	Replies []string // patterns
	End     string   // "open", "closed" or "ping"
}

// ReadDir reads all case files of a directory.
func ReadDir(dir string) ([]Case, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []Case
	for _, path := range paths {
		if IsList(path) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		cases, err := Parse(strings.TrimSuffix(filepath.Base(path), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}
	return all, nil
}

// Parse reads one file. Patterns are checked, so that a typing error shows before anything runs.
func Parse(file, text string) ([]Case, error) {
	var cases []Case
	for i, line := range strings.Split(text, "\n") {
		if err := parseLine(&cases, file, i+1, strings.TrimRight(line, "\r")); err != nil {
			return nil, fmt.Errorf("%s.txt:%d: %w", file, i+1, err)
		}
	}
	return cases, nil
}

var caseHead = regexp.MustCompile(`^case (\S+) \[(\S+)\] (.+)$`)

func parseLine(cases *[]Case, file string, number int, line string) error {
	switch {
	case line == "" || line[0] == '#':
		return nil
	case line[0] != ' ':
		head := caseHead.FindStringSubmatch(line)
		if head == nil {
			return errors.New("neither a case, nor a step, nor a comment")
		}
		*cases = append(*cases, Case{ID: head[1], Topology: head[2], Title: head[3], File: file, Line: number})
		return nil
	case len(*cases) == 0:
		return errors.New("a step before the first case")
	}
	steps := &(*cases)[len(*cases)-1].Steps
	if text, ok := strings.CutPrefix(line, "    "); ok {
		if len(*steps) == 0 {
			return errors.New("a reply without a raw step")
		}
		return (*steps)[len(*steps)-1].addReply(text)
	}
	step, err := parseStep(strings.TrimPrefix(line, "  "))
	step.Line = number
	*steps = append(*steps, step)
	return err
}

func (s *Step) addReply(text string) error {
	if s.Verb != Raw || s.End != "" {
		return errors.New("a reply where none belongs")
	}
	if slices.Contains([]string{"open", "closed", "ping"}, text) {
		s.End = text
		return nil
	}
	s.Replies = append(s.Replies, text)
	return checkPattern(text)
}

var (
	connMark = regexp.MustCompile(`^@(\d?)([a-z]?) +(.*)$`)
	holders  = regexp.MustCompile(`<(p|id)\d>`)
)

func checkPattern(text string) error {
	_, err := reply.Parse(holders.ReplaceAllString(text, "1"))
	return err
}

func parseStep(text string) (Step, error) {
	s := Step{Text: text, Conn: "a"}
	if mark := connMark.FindStringSubmatch(text); mark != nil {
		s.Node, _ = strconv.Atoi(mark[1]) // empty is 0
		if mark[2] != "" {
			s.Conn = mark[2]
		}
		text = mark[3]
	}
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "quiet":
		s.Verb = Quiet
		return s, nothing(rest)
	case "closed":
		s.Verb = Closed
		return s, nothing(rest)
	case "blocked":
		s.Verb = Blocked
		var err error
		s.Count, err = strconv.Atoi(rest)
		return s, err
	case "pause":
		s.Verb = Pause
		var err error
		s.Pause, err = time.ParseDuration(rest)
		return s, err
	case "raw":
		s.Verb = Raw
		words, tail, err := splitWords(rest)
		s.Bytes = []byte(strings.Join(words, ""))
		return s, errors.Join(err, nothing(tail))
	}
	return s, s.parseCommand(text)
}

func nothing(rest string) error {
	if strings.TrimSpace(rest) != "" {
		return fmt.Errorf("unexpected: %s", rest)
	}
	return nil
}

func (s *Step) parseCommand(text string) error {
	if silent, ok := strings.CutPrefix(text, "!"); ok {
		s.Verb, text = Send, silent
	}
	words, pattern, err := splitWords(text)
	if err != nil {
		return err
	}
	s.Args, s.Want = words, "any"
	if len(words) == 1 && words[0] == "?" {
		s.Verb, s.Args = Read, nil
	}
	switch {
	case len(words) == 0:
		return errors.New("an empty command")
	case pattern == "":
		return nil
	case s.Verb == Send:
		return errors.New("a command without reading has no reply")
	}
	s.Want = pattern
	return checkPattern(pattern)
}

const arrow = "=>"

// splitWords reads words up to the end, or up to an arrow; rest is what follows the arrow.
func splitWords(text string) (words []string, rest string, err error) {
	for {
		text = strings.TrimLeft(text, " ")
		switch {
		case text == "":
			return words, "", nil
		case strings.HasPrefix(text, arrow+" "):
			return words, strings.TrimSpace(text[len(arrow):]), nil
		}
		word, n, err := readWord(text)
		if err != nil {
			return nil, "", err
		}
		words = append(words, word)
		text = text[n:]
	}
}

// readWord reads a bare word, or quoted pieces joined by "+".
func readWord(text string) (word string, n int, err error) {
	if text[0] != '"' {
		n = strings.IndexByte(text, ' ')
		if n < 0 {
			n = len(text)
		}
		return text[:n], n, nil
	}
	for {
		piece, used, err := readPiece(text[n:])
		if err != nil {
			return "", 0, err
		}
		word, n = word+piece, n+used
		if !strings.HasPrefix(text[n:], `+"`) {
			break
		}
		n++
	}
	if n < len(text) && text[n] != ' ' {
		return "", 0, fmt.Errorf("something sticks to a quoted word: %s", text[n:])
	}
	return word, n, nil
}

var repeatMark = regexp.MustCompile(`^\*\d+`)

func readPiece(text string) (piece string, n int, err error) {
	piece, n, err = reply.Unquote(text)
	if err != nil {
		return "", 0, err
	}
	mark := repeatMark.FindString(text[n:])
	if mark == "" {
		return piece, n, nil
	}
	times, err := strconv.Atoi(mark[1:])
	return strings.Repeat(piece, times), n + len(mark), err
}
