// Package config is the configuration of a node: the language of redis.conf, the table of all directives of Redis 7.2 with
// their types, ranges and defaults, the values in force with the rules of CONFIG GET and CONFIG SET, and CONFIG REWRITE.
//
// It opens no file and changes nothing outside itself: Load gets functions that read files, a Store calls the hooks that
// its owner gave it.
package config

import (
	"strings"
	"sync"
)

// RedisVersion is the version whose configuration language this is.
const RedisVersion = "7.2.4"

// Kind says what the values of a directive look like.
type Kind uint8

// The kinds of values.
const (
	Bool        Kind = iota // yes or no
	Number                  // decimal
	Memory                  // bytes, with units
	MemoryShare             // Memory, or a percentage of maxmemory
	Octal                   // file permissions
	Enum                    // one word of a list
	Flags                   // several words of a list
	Text                    // any string
	Directory               // path that is made absolute
	Save                    // pairs of seconds and changes
	Buffers                 // output buffer limits by client class
	Scores                  // three out-of-memory scores
	Events                  // letters of event classes
	Addresses               // addresses to listen on
	Primary                 // host and port
	Percentiles             // numbers from 0 to 100
	kinds
)

// Attribute is one property of a directive; a directive has a set of them.
type Attribute uint16

// The properties.
const (
	Immutable   Attribute = 1 << iota // CONFIG SET is refused
	Protected                         // CONFIG SET needs enable-protected-configs
	Hidden                            // CONFIG GET shows it by its exact name only
	DenyLoading                       // CONFIG SET is refused while the dataset is loaded
	Sensitive                         // its value must not be logged
	Volatile                          // hooks run even if the value stays the same, since what it names may have changed
	EmptyUnset                        // the empty value is no value, and is not written to the file
	Unsigned                          // a Memory up to 2^64-1; more than an int64 holds counts as the most that it holds
	Own                               // Covey's own, or with values of Covey's own
)

// Word is a word of an Enum or Flags directive, or a special value of a number.
type Word struct {
	Name  string
	Value int64
}

// Directive is one row of the table.
type Directive struct {
	Name     string
	Alias    string // older name, "" if there is none
	Kind     Kind
	Is       Attribute
	Min, Max int64
	Words    []Word
	Default  string // as a configuration line would have it
	NoEffect string // why it has no effect in Covey; "" if it has one

	check     func(text string) error // further test of a Text
	normalise func(n int64) int64     // further change of a Number
}

// Has tells whether the directive has a property.
func (d *Directive) Has(a Attribute) bool { return d.Is&a != 0 }

// multi tells whether the directive takes several arguments, or one that is split at blanks.
func (d *Directive) multi() bool {
	switch d.Kind {
	case Flags, Save, Buffers, Scores, Addresses, Primary, Percentiles:
		return true
	}
	return false
}

// entry is a name under which a directive is known.
type entry struct {
	name string // in the table's spelling
	at   int    // index of the directive in index.rows
}

// index finds directives by name. It does not change once it is built.
type index struct {
	rows     []Directive      // sorted by name
	byName   map[string]entry // names and aliases, in lower case
	names    []entry          // names and aliases, sorted
	defaults []Value          // by row
}

// table is the index of all directives.
var table = sync.OnceValue(buildIndex)

// find looks a directive up by any of its names, in upper or lower case.
func (x *index) find(name string) (entry, bool) {
	e, ok := x.byName[name]
	if !ok {
		e, ok = x.byName[strings.ToLower(name)]
	}
	return e, ok
}

// Directives returns the table, sorted by name.
func Directives() []Directive { return append([]Directive(nil), table().rows...) }

// Lookup finds a directive by its name or its alias, in upper or lower case.
func Lookup(name string) (Directive, bool) {
	e, ok := table().find(name)
	if !ok {
		return Directive{}, false
	}
	return table().rows[e.at], true
}
