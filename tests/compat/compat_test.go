package compat

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// family is a group of commands that are tested together.
type family struct {
	name      string
	table     string     // templates
	prelude   []string   // commands that each sequence starts with
	configs   [][]string // settings, of which a sequence has one
	encodings string     // one that is not compared
	templates []template
	wheel     []int // indexes of templates, as often as their weights say
}

const (
	stepsDefault     = 1500
	stepsPerSequence = 30 // on average, as rapid has it
	reloadEvery      = 10 // sequences, on average, after one of which the data is saved and loaded
)

// stepsWanted is how many commands a family is to be tested with.
func stepsWanted(t *testing.T) int {
	text := os.Getenv("COVEY_COMPAT_STEPS")
	if text == "" {
		return stepsDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// families are all of them.
func families() []*family {
	return []*family{
		stringFamily(), bitFamily(), hyperLogLogFamily(), keyFamily(), transactionFamily(), listFamily(), hashFamily(), setFamily(), zsetFamily(),
		streamFamily(), geoFamily(), sortFamily(),
	}
}

// prepare reads the templates of the family.
func (f *family) prepare(t *testing.T) {
	var err error
	if f.templates, err = parseTemplates(f.table, generators()); err != nil {
		t.Fatal(err)
	}
	for i, tmpl := range f.templates {
		for range tmpl.weight {
			f.wheel = append(f.wheel, i)
		}
	}
}

func TestFamilies(t *testing.T) {
	setSequences(t)
	p := newPair(t, redisBinary(t))
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) { f.test(t, p) })
	}
}

// setSequences makes rapid draw as many sequences as are wanted.
func setSequences(t *testing.T) {
	sequences := max(1, stepsWanted(t)/stepsPerSequence)
	if err := flag.Set("rapid.checks", strconv.Itoa(sequences)); err != nil {
		t.Fatal(err)
	}
}

// test runs all sequences.
func (f *family) test(t *testing.T, p *pair) {
	f.prepare(t)
	p.commands, p.sequences = 0, 0
	rapid.Check(t, func(rt *rapid.T) { f.run(rt, p) })
	t.Logf("%d commands in %d sequences", p.commands, p.sequences)
}

// run is one sequence.
func (f *family) run(t *rapid.T, p *pair) {
	d := &draw{T: t, f: f}
	var config []string
	if len(f.configs) > 0 {
		config = rapid.SampledFrom(f.configs).Draw(t, "config")
	}
	p.begin(t, f, config)
	t.Repeat(map[string]func(*rapid.T){"step": func(t *rapid.T) {
		d.T = t
		conn := rapid.IntRange(0, 1).Draw(t, "resp3")
		p.step(t, conn, d.command())
	}})
	p.finish(t, f)
	if rapid.IntRange(0, reloadEvery-1).Draw(t, "reload") == reloadEvery-1 {
		p.reload(t)
	}
}
