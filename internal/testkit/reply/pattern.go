package reply

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Pattern says which values are right.
type Pattern struct {
	text string
	test func(Value) bool
}

// Matches tells whether the value is right.
func (p Pattern) Matches(v Value) bool { return p.test(v) }

// String is the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Parse reads a pattern. The forms, beside those that Value.String writes:
//
//	A | B            either
//	A & B            both
//	-ERR text...     an error; "..." leaves its end open
//	-"ERR text "     the same in quotes, where blanks or bars would be lost
//	"<*>" :<n> "<id>"  any text, any integer, any node id
//	[A B ...]        an array that starts with A and B
//	[A B] (any order)
//	any, array, len(2), has("x"), ... : see predicates.go
func Parse(text string) (Pattern, error) {
	p := &patternParser{text: text}
	test, err := p.alternatives()
	if err == nil && p.skipBlanks() != "" {
		err = errors.New("something follows the pattern")
	}
	if err != nil {
		return Pattern{}, fmt.Errorf("pattern %s at byte %d: %w", text, p.at, err)
	}
	return Pattern{text: text, test: test}, nil
}

// MustParse is Parse for patterns that are written in Go.
func MustParse(text string) Pattern {
	p, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return p
}

type test = func(Value) bool

type patternParser struct {
	text  string
	at    int // bytes read
	depth int // open brackets and parentheses
}

func (p *patternParser) rest() string { return p.text[p.at:] }

// take skips blanks, then the given text if it is next.
func (p *patternParser) take(text string) bool {
	if !strings.HasPrefix(p.skipBlanks(), text) {
		return false
	}
	p.at += len(text)
	return true
}

func (p *patternParser) skipBlanks() string {
	p.at = len(p.text) - len(strings.TrimLeft(p.rest(), " "))
	return p.rest()
}

func (p *patternParser) alternatives() (test, error) {
	return p.joined("| ", p.conjunction, func(a, b test) test {
		return func(v Value) bool { return a(v) || b(v) }
	})
}

func (p *patternParser) conjunction() (test, error) {
	return p.joined("& ", p.primary, func(a, b test) test {
		return func(v Value) bool { return a(v) && b(v) }
	})
}

// joined reads one or more parts with the operator between them.
func (p *patternParser) joined(operator string, part func() (test, error), join func(a, b test) test) (test, error) {
	whole, err := part()
	for err == nil && p.take(operator) {
		var next test
		if next, err = part(); err == nil {
			whole = join(whole, next)
		}
	}
	return whole, err
}

func (p *patternParser) primary() (test, error) {
	if p.skipBlanks() == "" {
		return nil, errors.New("a pattern is missing")
	}
	switch p.rest()[0] {
	case '+':
		return p.textOf(Status)
	case '-':
		return p.textOf(Error)
	case ':':
		return p.integer()
	case '"':
		return p.quoted(Bulk, 0)
	case '=':
		return p.quoted(Verbatim, 1)
	case ',':
		return p.double()
	case '#':
		return p.boolean()
	case '[':
		return p.items(Array, "[")
	case '~':
		return p.items(Set, "~[")
	case '>':
		return p.items(Push, ">[")
	case '{':
		return p.pairs()
	}
	return p.word()
}

// textOf reads a status or an error: in quotes, or up to the next operator; inside brackets up to the next blank.
func (p *patternParser) textOf(kind Kind) (test, error) {
	p.at++
	var text string
	if strings.HasPrefix(p.rest(), `"`) {
		content, n, err := Unquote(p.rest())
		if err != nil {
			return nil, err
		}
		text, p.at = content, p.at+n
		if p.take(openEnd) {
			text += openEnd
		}
	} else {
		text = p.bareText()
	}
	if open, ok := strings.CutSuffix(text, openEnd); ok {
		text = open + anyText
	}
	return func(v Value) bool { return v.Kind == kind && matchText(text, v.Text) }, nil
}

func (p *patternParser) bareText() string {
	text := p.rest()
	if p.depth > 0 {
		text = text[:indexOrEnd(text, " ])},=")]
	} else {
		for _, operator := range []string{" | ", " & "} {
			text, _, _ = strings.Cut(text, operator)
		}
	}
	p.at += len(text)
	return strings.TrimRight(text, " ")
}

func indexOrEnd(text, chars string) int {
	if i := strings.IndexAny(text, chars); i >= 0 {
		return i
	}
	return len(text)
}

func (p *patternParser) bareWord() string {
	text := p.rest()
	text = text[:indexOrEnd(text, " ])},=(")]
	p.at += len(text)
	return text
}

func (p *patternParser) integer() (test, error) {
	p.at++
	word := p.bareWord()
	if word == anyInt {
		return func(v Value) bool { return v.Kind == Int }, nil
	}
	n, err := strconv.ParseInt(word, 10, 64)
	return func(v Value) bool { return v.Kind == Int && v.Int == n }, err
}

func (p *patternParser) double() (test, error) {
	p.at++
	word := p.bareWord()
	_, err := strconv.ParseFloat(word, 64)
	return func(v Value) bool { return v.Kind == Double && v.Text == word }, err
}

func (p *patternParser) boolean() (test, error) {
	p.at++
	word := p.bareWord()
	if word != "t" && word != "f" {
		return nil, fmt.Errorf("boolean %s", word)
	}
	return func(v Value) bool { return v.Kind == Bool && (v.Int == 1) == (word == "t") }, nil
}

func (p *patternParser) quoted(kind Kind, mark int) (test, error) {
	p.at += mark
	text, err := p.quotedText()
	return func(v Value) bool { return v.Kind == kind && matchText(text, v.Text) }, err
}

// quotedText reads a quoted string, which may be repeated as in "ab"*3.
func (p *patternParser) quotedText() (string, error) {
	p.skipBlanks()
	text, n, err := Unquote(p.rest())
	if err != nil {
		return "", err
	}
	p.at += n
	if !strings.HasPrefix(p.rest(), "*") {
		return text, nil
	}
	p.at++
	times, err := strconv.Atoi(p.bareWord())
	return strings.Repeat(text, max(times, 0)), err
}

// items reads a list of patterns in brackets.
func (p *patternParser) items(kind Kind, open string) (test, error) {
	if !p.take(open) {
		return nil, fmt.Errorf("%s is missing", open)
	}
	p.depth++
	defer func() { p.depth-- }()
	var tests []test
	atLeast := false
	for !p.take("]") {
		if p.take(openEnd) {
			atLeast = true
			continue
		}
		one, err := p.alternatives()
		if err != nil {
			return nil, err
		}
		tests = append(tests, one)
	}
	anyOrder := p.take("(any order)")
	return func(v Value) bool {
		switch {
		case v.Kind != kind, len(v.Items) < len(tests), len(v.Items) > len(tests) && !atLeast:
			return false
		case anyOrder:
			return matchAnyOrder(tests, v.Items)
		}
		return matchInOrder(tests, v.Items)
	}, nil
}

func matchInOrder(tests []test, items []Value) bool {
	for i, ok := range tests {
		if !ok(items[i]) {
			return false
		}
	}
	return true
}

// matchAnyOrder gives each pattern the first item left that fits; patterns of one list do not overlap.
func matchAnyOrder(tests []test, items []Value) bool {
	used := make([]bool, len(items))
next:
	for _, ok := range tests {
		for i, item := range items {
			if !used[i] && ok(item) {
				used[i] = true
				continue next
			}
		}
		return false
	}
	return true
}

// pairs reads a map; RESP3 maps have no order that a test may rely on.
func (p *patternParser) pairs() (test, error) {
	p.at++
	p.depth++
	defer func() { p.depth-- }()
	var keys, values []test
	for !p.take("}") {
		key, err := p.primary()
		if err != nil {
			return nil, err
		}
		if !p.take("=") {
			return nil, errors.New("= is missing in a map")
		}
		value, err := p.alternatives()
		if err != nil {
			return nil, err
		}
		keys, values = append(keys, key), append(values, value)
	}
	return func(v Value) bool {
		return v.Kind == Map && len(v.Items) == 2*len(keys) && matchAnyOrder(pairTests(keys, values), pairsOf(v))
	}, nil
}

func pairTests(keys, values []test) []test {
	tests := make([]test, len(keys))
	for i := range keys {
		tests[i] = func(v Value) bool { return keys[i](v.Items[0]) && values[i](v.Items[1]) }
	}
	return tests
}

func pairsOf(v Value) []Value {
	pairs := make([]Value, 0, len(v.Items)/2)
	for i := 0; i+1 < len(v.Items); i += 2 {
		pairs = append(pairs, Value{Kind: Array, Items: v.Items[i : i+2]})
	}
	return pairs
}

// word reads a null, "any", "not", or a predicate.
func (p *patternParser) word() (test, error) {
	name := p.bareWord()
	switch name {
	case "":
		return nil, fmt.Errorf("no pattern starts with %.1s", p.rest())
	case "nil":
		return kindTest(NilBulk), nil
	case "nil*":
		return kindTest(NilArray), nil
	case "null":
		return kindTest(Null), nil
	case "any":
		return func(Value) bool { return true }, nil
	case "not":
		inner, err := p.primary()
		return func(v Value) bool { return !inner(v) }, err
	}
	return p.predicate(name)
}

func kindTest(kind Kind) test { return func(v Value) bool { return v.Kind == kind } }
