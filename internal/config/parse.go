// How the arguments of a directive become a value.

package config

import (
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/covey-db/covey/internal/num"
)

// parse reads the arguments of a directive. Limits of client classes that are not named are taken from old. The arguments
// of a directive with one argument must have been counted.
func (d *Directive) parse(args []string, old Value) (Value, error) {
	switch d.Kind {
	case Bool:
		return parseBool(args[0])
	case Number, Memory, MemoryShare, Octal:
		return d.parseNumber(args[0])
	case Enum, Flags:
		return d.parseWords(args)
	case Text:
		return d.parseText(args[0])
	case Directory:
		return parseDirectory(args[0], old)
	case Save:
		return parseSave(args)
	case Buffers:
		return parseBuffers(args, old)
	case Scores:
		return parseScores(args)
	case Events:
		return parseEvents(args[0])
	case Addresses:
		return parseAddresses(args)
	case Primary:
		return parsePrimary(args)
	default:
		return parsePercentiles(args)
	}
}

// parseDirectory makes a path absolute: it is relative to the directory before.
func parseDirectory(path string, old Value) (Value, error) {
	switch {
	case path == "":
		return Value{}, reason(osText(fs.ErrNotExist))
	case filepath.IsAbs(path):
		return textValue(filepath.Clean(path)), nil
	}
	return textValue(filepath.Join(old.text, path)), nil
}

func parseBool(arg string) (Value, error) {
	switch strings.ToLower(arg) {
	case "yes":
		return Value{text: "yes", num: 1}, nil
	case "no":
		return Value{text: "no"}, nil
	}
	return Value{}, badBool
}

func (d *Directive) parseNumber(arg string) (Value, error) {
	if d.Has(Unsigned) {
		n, ok := num.ParseUnsignedMemory([]byte(arg))
		return Value{num: int64(min(n, math.MaxInt64)), text: strconv.FormatUint(n, 10)}, unless(ok, badMemory)
	}
	n, share, err := d.readNumber(arg)
	switch {
	case err != nil:
		return Value{}, err
	case share && n > -d.Min:
		return Value{}, shareTooBig(d)
	case share && n > 0:
		return Value{num: -n, text: strconv.FormatInt(n, 10) + "%"}, nil
	case n < d.Min || n > d.Max:
		return Value{}, outOfRange(d)
	}
	if d.normalise != nil {
		n = d.normalise(n)
	}
	base := 10
	if d.Kind == Octal {
		base = 8
	}
	return Value{num: n, text: strconv.FormatInt(n, base)}, nil
}

// readNumber reads a number in any of the forms that the directive allows.
func (d *Directive) readNumber(arg string) (n int64, share bool, err error) {
	switch d.Kind {
	case Memory:
		n, ok := num.ParseUnsignedMemory([]byte(arg))
		if n > math.MaxInt64 {
			return 0, false, outOfRange(d)
		}
		return int64(n), false, unless(ok, badMemory)
	case MemoryShare:
		if n, ok := num.ParseMemory([]byte(arg)); ok {
			return n, false, nil
		}
		digits, isShare := strings.CutSuffix(arg, "%")
		n, ok := num.ParseInt([]byte(digits))
		return n, true, unless(isShare && ok && n >= 0, badMemoryShare)
	case Octal:
		n, ok := cNumber(arg, 8)
		return n, false, unless(ok, badOctal)
	}
	for _, w := range d.Words {
		if strings.EqualFold(w.Name, arg) {
			return w.Value, false, nil
		}
	}
	n, ok := num.ParseInt([]byte(arg))
	return n, false, unless(ok, badInteger)
}

func unless(ok bool, r reason) error {
	if ok {
		return nil
	}
	return r
}

// cNumber reads a number as strtoll does, and wants it to be the whole string: blanks in front and a plus sign are taken, and
// so is nothing at all, for 0. What does not fit is refused.
func cNumber(s string, base int) (int64, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	if s == "" {
		return 0, true
	}
	if strings.ContainsRune(s, '_') {
		return 0, false
	}
	n, err := strconv.ParseInt(s, base, 64)
	return n, err == nil
}

func (d *Directive) parseWords(args []string) (Value, error) {
	if len(args) == 0 || d.Kind == Enum && len(args) != 1 {
		return Value{}, notAWord(d)
	}
	var sum int64
	for _, arg := range args {
		at := slices.IndexFunc(d.Words, func(w Word) bool { return strings.EqualFold(w.Name, arg) })
		if at < 0 {
			return Value{}, notAWord(d)
		}
		sum |= d.Words[at].Value
	}
	if d.Kind == Flags && sum&ShutdownSave != 0 && sum&ShutdownNoSave != 0 {
		return Value{}, badSignals
	}
	return Value{num: sum, text: d.wordsOf(sum)}, nil
}

// wordsOf names a value: the first word that says it all, or else all words that are part of it.
func (d *Directive) wordsOf(sum int64) string {
	var parts []string
	for _, w := range d.Words {
		if w.Value == sum {
			return w.Name
		}
		if sum&w.Value != 0 {
			parts = append(parts, w.Name)
		}
	}
	return strings.Join(parts, " ")
}

func (d *Directive) parseText(arg string) (Value, error) {
	if d.check != nil {
		if err := d.check(arg); err != nil {
			return Value{}, err
		}
	}
	return textValue(arg), nil
}
