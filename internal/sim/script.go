package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/covey-db/covey/internal/slot"
)

// This file reads scripts. A script is a text: one command a line, a verb and words, most of them name=value; "#" begins a
// comment. The first command is "nodes". Below a line "----" follows what the script is expected to print when it runs
// with its own number of nodes and its own seed. testdata/README.md describes the verbs.

// script is a parsed script.
type script struct {
	commands []command
	// want is the expected output, "" if the script has none.
	want string
}

// command is one line.
type command struct {
	line  int
	text  string
	verb  string
	words []string          // those without "="
	args  map[string]string // the others
}

// separator stands between the commands and the expected output.
const separator = "----"

func parseScript(text string) (*script, error) {
	s := &script{}
	body, want, _ := strings.Cut(text, "\n"+separator+"\n")
	s.want = want
	for i, line := range strings.Split(body, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		c := command{line: i + 1, text: strings.Join(words, " "), verb: words[0], args: map[string]string{}}
		for _, word := range words[1:] {
			if name, value, ok := strings.Cut(word, "="); ok {
				c.args[name] = value
			} else {
				c.words = append(c.words, word)
			}
		}
		s.commands = append(s.commands, c)
	}
	if len(s.commands) == 0 || s.commands[0].verb != "nodes" {
		return nil, errors.New("a script begins with \"nodes\"")
	}
	return s, nil
}

// number gives a numeric argument, or what it is without.
func (c *command) number(name string, without int) (int, error) {
	text, ok := c.args[name]
	if !ok {
		return without, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil {
		return 0, c.errorf("%s is no number", name)
	}
	return v, nil
}

// span gives a span of time, or what it is without.
func (c *command) span(name string, without instant) (instant, error) {
	text, ok := c.args[name]
	if !ok {
		return without, nil
	}
	return c.parseSpan(text)
}

func (c *command) parseSpan(text string) (instant, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, c.errorf("%q is no span of time", text)
	}
	return instant(d.Microseconds()), nil
}

func (c *command) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %q: %s", c.line, c.text, fmt.Sprintf(format, args...))
}

// node gives the node an argument names.
func (c *command) node(w *world, name string) (*node, error) {
	list, err := c.nodes(w, name)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, c.errorf("%s names %d nodes", name, len(list))
	}
	return list[0], nil
}

// nodes gives the nodes an argument names, with commas between them: a number; p2, the second primary at the start; r2, the
// first replica of that, or r2.3 the third; s1, the first spare node; o100, who serves slot 100 now; or "*" for all.
func (c *command) nodes(w *world, name string) ([]*node, error) {
	text, ok := c.args[name]
	if !ok {
		return nil, c.errorf("%s is missing", name)
	}
	if text == "*" {
		return w.nodes, nil
	}
	var list []*node
	for word := range strings.SplitSeq(text, ",") {
		i := w.shape.place(word)
		if number, ok := strings.CutPrefix(word, "o"); ok {
			i = w.placeOfOwner(number)
		}
		if i < 0 || i >= len(w.nodes) {
			return nil, c.errorf("there is no node %q", word)
		}
		list = append(list, w.nodes[i])
	}
	return list, nil
}

// placeOfOwner finds the place of the node that serves a slot, -1 if there is none.
func (w *world) placeOfOwner(number string) int {
	s, err := strconv.Atoi(number)
	if err != nil || s < 0 || s >= slot.Count {
		return -1
	}
	if n := w.ownerOf(slot.ID(s)); n != nil {
		return n.index
	}
	return -1
}

// place finds the place of a node in the list of all by the name a script gives it, -1 if there is none.
func (s *shape) place(name string) int {
	if name == "" {
		return -1
	}
	number, of, _ := strings.Cut(strings.TrimLeft(name, "prs"), ".")
	i, err := strconv.Atoi(number)
	nth := 1
	if of != "" && err == nil {
		nth, err = strconv.Atoi(of)
	}
	switch {
	case err != nil || i < 1 || nth < 1:
		return -1
	case name[0] == 'r' && i <= s.primaries && nth <= s.replicas:
		return s.primaries*nth + i - 1
	case name[0] == 's' && i <= s.spare:
		return s.primaries*(1+s.replicas) + i - 1
	case name[0] == 'p' && i <= s.primaries, name[0] >= '0' && name[0] <= '9':
		return i - 1
	}
	return -1
}

// shape reads the "nodes" command.
func (c *command) shape() (s shape, seed int, err error) {
	read := func(name string, without int) (v int) {
		if err == nil {
			v, err = c.number(name, without)
		}
		return v
	}
	s.primaries = read("primaries", 3)
	s.replicas = read("replicas", 0)
	s.spare = read("spare", 0)
	seed = read("seed", 1)
	s.conf = c.args["boot"] == "conf"
	if err != nil {
		return s, 0, err
	}
	s.timeout, err = c.span("timeout", 2*second)
	if err == nil && (s.primaries < 1 || s.replicas < 0 || s.spare < 0 || s.timeout <= 0) {
		err = c.errorf("impossible cluster")
	}
	return s, seed, err
}
