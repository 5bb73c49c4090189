package compat

import (
	"fmt"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// A template is a command with places for arguments, as the documentation of commands writes it:
//
//	3 SET key value [NX | XX] [GET] [EX seconds | PX millis | KEEPTTL]
//
// The number in front is the weight, 1 if there is none. Words in lower case name generators, all others stand for
// themselves; so does what follows an apostrophe ('encoding). [] is left out two times of three; () is there; | separates
// alternatives; a group may be followed by + (one to four times) or * (none to three times).
type template struct {
	weight int
	parts  []node
}

// node appends arguments.
type node interface {
	draw(d *draw, args []string) []string
}

// literal stands for itself.
type literal string

func (l literal) draw(_ *draw, args []string) []string { return append(args, string(l)) }

// place is an argument, or several, that a generator makes.
type place struct {
	name string
	make func(d *draw) []string
}

func (p place) draw(d *draw, args []string) []string { return append(args, p.make(d)...) }

// group is one of its choices, or none of them, or several.
type group struct {
	choices   [][]node
	low, high int  // how often
	rarely    bool // none is more likely than one
}

func (g group) draw(d *draw, args []string) []string {
	times := g.low
	switch {
	case g.rarely:
		times = max(0, rapid.IntRange(0, 2).Draw(d.T, "option")-1)
	case g.low != g.high:
		times = rapid.IntRange(g.low, g.high).Draw(d.T, "times")
	}
	for range times {
		choice := 0
		if len(g.choices) > 1 {
			choice = rapid.IntRange(0, len(g.choices)-1).Draw(d.T, "choice")
		}
		for _, n := range g.choices[choice] {
			args = n.draw(d, args)
		}
	}
	return args
}

// templateParser reads one template.
type templateParser struct {
	words      []string
	generators map[string]func(d *draw) []string
}

// parseTemplates reads a table, one template a line; empty lines and those that begin with # are skipped.
func parseTemplates(table string, generators map[string]func(d *draw) []string) (list []template, err error) {
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		for _, mark := range "[]()|" {
			line = strings.ReplaceAll(line, string(mark), " "+string(mark)+" ")
		}
		p := &templateParser{strings.Fields(line), generators}
		t := template{weight: 1}
		if n, err := strconv.Atoi(p.words[0]); err == nil {
			t.weight = n
			p.words = p.words[1:]
		}
		if t.parts, err = p.sequence(); err == nil && len(p.words) > 0 {
			err = fmt.Errorf("%s is too much", p.words[0])
		}
		if err != nil {
			return nil, fmt.Errorf("template %s: %w", line, err)
		}
		list = append(list, t)
	}
	return list, nil
}

// sequence reads up to the end of the group.
func (p *templateParser) sequence() (parts []node, err error) {
	for len(p.words) > 0 {
		w := p.words[0]
		switch {
		case w == "]" || w == ")" || w == "|":
			return parts, nil
		case w == "[" || w == "(":
			g, err := p.group(w)
			if err != nil {
				return nil, err
			}
			parts = append(parts, g)
			continue
		case w[0] == '\'':
			parts = append(parts, literal(w[1:]))
		case w == strings.ToLower(w) && w != strings.ToUpper(w):
			generator := p.generators[w]
			if generator == nil {
				return nil, fmt.Errorf("there is no generator %s", w)
			}
			parts = append(parts, place{w, generator})
		default:
			parts = append(parts, literal(w))
		}
		p.words = p.words[1:]
	}
	return parts, nil
}

func (p *templateParser) group(open string) (g group, err error) {
	shut := map[string]string{"[": "]", "(": ")"}[open]
	for {
		p.words = p.words[1:]
		choice, err := p.sequence()
		if err != nil {
			return g, err
		}
		g.choices = append(g.choices, choice)
		if len(p.words) == 0 {
			return g, fmt.Errorf("%s is missing", shut)
		}
		if p.words[0] != "|" {
			break
		}
	}
	if p.words[0] != shut {
		return g, fmt.Errorf("%s instead of %s", p.words[0], shut)
	}
	p.words = p.words[1:]
	g.low, g.high, g.rarely = 1, 1, open == "["
	if len(p.words) > 0 && (p.words[0] == "+" || p.words[0] == "*") {
		g.low, g.high, g.rarely = map[string]int{"+": 1, "*": 0}[p.words[0]], 4, false
		p.words = p.words[1:]
	}
	return g, nil
}
