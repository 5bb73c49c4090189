package reply

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// predicate reads the arguments of the named predicate and makes its test:
//
//	array, map, string, verbatim, number, status   the kind
//	len(2) len(>=2)        number of items of a list, of pairs of a map, of bytes of a text
//	has("a" "b")           a text that holds all of these
//	lacks("a" "b")         a text that holds none of these
//	matches("regexp")      a text
//	holds(P)               a list with an item that P fits
//	lacking(P)             a list without such an item
//	each(P)                a list of items that P fits
//	at(0 P)                the item of that place
//	field("name" P)        the value after that name, in a map or in a flat list
//	int(>0) float(>=1.5)   a number, also as a text
//	hello                  the fields of HELLO
func (p *patternParser) predicate(name string) (test, error) {
	if kinds, ok := kindWords()[name]; ok {
		return func(v Value) bool { return slices.Contains(kinds, v.Kind) }, nil
	}
	if name == "hello" {
		return isHello, nil
	}
	if !p.take("(") {
		return nil, fmt.Errorf("unknown word %q", name)
	}
	p.depth++
	made, err := p.withArguments(name)
	p.depth--
	if err == nil && !p.take(")") {
		err = errors.New(") is missing")
	}
	return made, err
}

func kindWords() map[string][]Kind {
	return map[string][]Kind{
		"array": {Array}, "map": {Map}, "string": {Bulk}, "verbatim": {Verbatim}, "number": {Int}, "status": {Status},
	}
}

func (p *patternParser) withArguments(name string) (test, error) {
	switch name {
	case "has", "lacks":
		return p.texts(name == "has")
	case "matches":
		return p.regexp()
	case "len":
		return p.comparison(func(v Value) (float64, bool) { return v.length() })
	case "int", "float":
		return p.comparison(Value.number)
	case "at":
		return p.indexed()
	case "field":
		return p.field()
	case "holds", "lacking", "each":
		return p.quantified(name)
	}
	return nil, fmt.Errorf("unknown predicate %q", name)
}

func (p *patternParser) texts(wanted bool) (test, error) {
	var texts []string
	for strings.HasPrefix(p.skipBlanks(), `"`) {
		text, err := p.quotedText()
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, errors.New("a quoted text is missing")
	}
	return func(v Value) bool {
		if v.Kind != Bulk && v.Kind != Verbatim && v.Kind != Error && v.Kind != Status {
			return false
		}
		return !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(v.Text, text) != wanted })
	}, nil
}

func (p *patternParser) regexp() (test, error) {
	text, err := p.quotedText()
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	return func(v Value) bool { return (v.Kind == Bulk || v.Kind == Verbatim) && re.MatchString(v.Text) }, err
}

// comparison reads a number with an optional operator before it and compares what measure finds.
func (p *patternParser) comparison(measure func(Value) (float64, bool)) (test, error) {
	p.skipBlanks()
	operator := p.rest()[:len(p.rest())-len(strings.TrimLeft(p.rest(), "<>="))]
	p.at += len(operator)
	word := p.rest()[:indexOrEnd(p.rest(), " )")]
	p.at += len(word)
	limit, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return nil, err
	}
	compare, ok := map[string]func(x float64) bool{
		"":   func(x float64) bool { return x == limit },
		">":  func(x float64) bool { return x > limit },
		">=": func(x float64) bool { return x >= limit },
		"<":  func(x float64) bool { return x < limit },
		"<=": func(x float64) bool { return x <= limit },
	}[operator]
	if !ok {
		return nil, fmt.Errorf("unknown comparison %s", operator)
	}
	return func(v Value) bool {
		x, ok := measure(v)
		return ok && compare(x)
	}, nil
}

func (v Value) length() (float64, bool) {
	switch v.Kind {
	case Array, Set, Push:
		return float64(len(v.Items)), true
	case Map:
		return float64(len(v.Items) / 2), true
	case Bulk, Verbatim:
		return float64(len(v.Text)), true
	}
	return 0, false
}

func (v Value) number() (float64, bool) {
	if v.Kind == Int {
		return float64(v.Int), true
	}
	x, err := strconv.ParseFloat(v.Text, 64)
	return x, err == nil && (v.Kind == Bulk || v.Kind == Double)
}

func (p *patternParser) indexed() (test, error) {
	p.skipBlanks()
	i, err := strconv.Atoi(p.bareWord())
	if err != nil {
		return nil, err
	}
	inner, err := p.alternatives()
	return func(v Value) bool { return i < len(v.Items) && inner(v.Items[i]) }, err
}

func (p *patternParser) field() (test, error) {
	name, err := p.quotedText()
	if err != nil {
		return nil, err
	}
	inner, err := p.alternatives()
	return func(v Value) bool {
		value, ok := v.Field(name)
		return ok && inner(value)
	}, err
}

func (p *patternParser) quantified(name string) (test, error) {
	inner, err := p.alternatives()
	return func(v Value) bool {
		if v.Kind != Array && v.Kind != Set && v.Kind != Push {
			return false
		}
		switch name {
		case "holds":
			return slices.ContainsFunc(v.Items, inner)
		case "lacking":
			return !slices.ContainsFunc(v.Items, inner)
		}
		return !slices.ContainsFunc(v.Items, func(item Value) bool { return !inner(item) })
	}, err
}

// isHello checks the fields of HELLO, as a map or as a flat array.
func isHello(v Value) bool {
	if v.Kind != Map && v.Kind != Array || len(v.Items) != 14 {
		return false
	}
	var texts [7]string
	for i, name := range []string{"server", "version", "proto", "id", "mode", "role", "modules"} {
		value, ok := v.Field(name)
		if !ok {
			return false
		}
		texts[i] = value.Plain()
	}
	return texts[0] == "redis" && regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(texts[1])
}
