// Package reply holds what tests know of a server's replies: a value tree read from the wire, its text form, and patterns
// that such values are compared with. It is written apart from the server's own RESP code, so that one judges the other.
package reply

import (
	"strconv"
	"strings"
)

// Kind is the form in which a value came over the wire.
type Kind byte

// The kinds; the three nulls are told apart because clients tell them apart.
const (
	Status Kind = iota + 1
	Error
	Int
	Bulk
	NilBulk
	Array
	NilArray
	Null
	Map
	Set
	Push
	Double
	Bool
	BigNumber
	Verbatim
)

// Value is one reply, with everything below it.
type Value struct {
	Kind  Kind
	Text  string  // Status, Error, Bulk, Double, BigNumber, Verbatim (with its format, as "txt:...")
	Int   int64   // Int; Bool as 0 or 1
	Items []Value // Array, Set, Push; Map as key, value, key, value
}

// IsError tells whether the value is an error whose text starts with prefix.
func (v Value) IsError(prefix string) bool {
	return v.Kind == Error && strings.HasPrefix(v.Text, prefix)
}

// IsNil tells whether the value is one of the three nulls.
func (v Value) IsNil() bool { return v.Kind == NilBulk || v.Kind == NilArray || v.Kind == Null }

// Strings returns the texts of the items; integers are written in decimal.
func (v Value) Strings() []string {
	texts := make([]string, len(v.Items))
	for i, item := range v.Items {
		texts[i] = item.Plain()
	}
	return texts
}

// Plain returns the text of a scalar without the marks of its kind: what a person would call its content.
func (v Value) Plain() string {
	switch v.Kind {
	case Int, Bool:
		return strconv.FormatInt(v.Int, 10)
	case Verbatim:
		if len(v.Text) >= 4 {
			return v.Text[4:]
		}
	}
	return v.Text
}

// Field returns the value that follows name in a map or in a flat array of names and values.
func (v Value) Field(name string) (Value, bool) {
	for i := 0; i+1 < len(v.Items); i += 2 {
		if v.Items[i].Plain() == name {
			return v.Items[i+1], true
		}
	}
	return Value{}, false
}

const shownTextMax = 400 // bytes of a text that String shows; a failure message stays readable

// String writes the value as the case files do.
func (v Value) String() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v Value) write(b *strings.Builder) {
	switch v.Kind {
	case Status:
		b.WriteString("+" + printable(v.Text))
	case Error:
		b.WriteString("-" + printable(v.Text))
	case Int:
		b.WriteString(":" + strconv.FormatInt(v.Int, 10))
	case Bulk:
		writeQuoted(b, v.Text)
	case NilBulk:
		b.WriteString("nil")
	case NilArray:
		b.WriteString("nil*")
	case Null:
		b.WriteString("null")
	case Double:
		b.WriteString("," + v.Text)
	case Bool:
		b.WriteString(map[int64]string{0: "#f", 1: "#t"}[v.Int])
	case BigNumber:
		b.WriteString("(" + v.Text)
	case Verbatim:
		b.WriteByte('=')
		writeQuoted(b, v.Text)
	case Array, Set, Push:
		b.WriteString(map[Kind]string{Array: "[", Set: "~[", Push: ">["}[v.Kind])
		v.writeItems(b)
		b.WriteByte(']')
	case Map:
		v.writeMap(b)
	default:
		b.WriteString("(nothing)")
	}
}

// printable quotes a text only if it would not print well.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return Quote(text)
	}
	return text
}

func writeQuoted(b *strings.Builder, text string) {
	if len(text) > shownTextMax {
		b.WriteString(Quote(text[:shownTextMax]) + "...(" + strconv.Itoa(len(text)) + " bytes)")
		return
	}
	b.WriteString(Quote(text))
}

func (v Value) writeItems(b *strings.Builder) {
	for i, item := range v.Items {
		if i > 0 {
			b.WriteByte(' ')
		}
		item.write(b)
	}
}

func (v Value) writeMap(b *strings.Builder) {
	b.WriteByte('{')
	for i, item := range v.Items {
		switch {
		case i == 0:
		case i%2 == 0:
			b.WriteByte(' ')
		default:
			b.WriteByte('=')
		}
		item.write(b)
	}
	b.WriteByte('}')
}
