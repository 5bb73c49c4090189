package compat

import (
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// draw makes the arguments of one sequence of commands.
type draw struct {
	*rapid.T
	f     *family
	drawn int // places so far; no two are the same
	step  int // commands so far; times differ by it, so that their order does not depend on how long the test takes
}

// pick is one of the usual values, or now and then one of the odd ones.
func (d *draw) pick(label string, usual, odd []string) string {
	list := usual
	if len(odd) > 0 && rapid.IntRange(0, 9).Draw(d.T, "odd") == 9 {
		list = odd
	}
	return rapid.SampledFrom(list).Draw(d.T, label)
}

const (
	bigInt   = "9223372036854775807"
	smallInt = "-9223372036854775808"
)

// The values that are no number for anybody.
func noNumbers() []string {
	return []string{"x", "", " 1", "1 ", "+1", "01", "-0", "1.0", "0x10", "9223372036854775808", "-9223372036854775809"}
}

func numbersUpTo(n int) (list []string) {
	for i := range n + 1 {
		list = append(list, strconv.Itoa(i))
	}
	return list
}

// generators are the lower-case words of the templates.
func generators() map[string]func(d *draw) []string {
	one := func(make func(d *draw) string) func(d *draw) []string {
		return func(d *draw) []string { return []string{make(d)} }
	}
	of := func(label string, usual, odd []string) func(d *draw) []string {
		return one(func(d *draw) string { return d.pick(label, usual, odd) })
	}
	extremes := append(noNumbers(), bigInt, smallInt, "4294967296", "-4294967297", "2147483648")
	indexes := append(numbersUpTo(12), "-1", "-2", "-3", "-5", "-12", "100", "-100")
	scores := []string{"1", "0", "2", "3", "-1", "1.5", "2.5", "0.1", "10", "-2.25", "1e3", "100000000000000000000"}
	oddScores := []string{"inf", "-inf", "+inf", "nan", "-0", "1e308", "-1e308", "1.7976931348623157e308", "5e-324", "x", "", "0x1p3", "1e400",
		" 1", "0.30000000000000004", "3.0e5", "Infinity", "17179869184.00001", "9007199254740993"}
	g := map[string]func(d *draw) []string{
		"key":     one((*draw).key),
		"value":   one((*draw).value),
		"element": one((*draw).element),
		"int":     of("int", append(numbersUpTo(5), "-1", "-7", "100", "-100", "1234567890123"), extremes),
		"index":   of("index", indexes, extremes),
		// LSET of Redis takes the low 32 bits of a position.
		"position": of("position", indexes, append(noNumbers(), "2147483647", "-2147483648")),
		"lexkey":   of("lexkey", []string{"lex1", "lex2", "lex1"}, []string{"lexicon", "lex3"}),
		"count":    of("count", append(numbersUpTo(6), "20", "-1", "-3", "-20"), extremes),
		"limit":    of("limit", append(numbersUpTo(6), "20"), append([]string{"-1", "-3"}, extremes...)),
		"float":    of("float", scores, append(oddScores, noNumbers()...)),
		"score":    of("score", scores, oddScores),
		"bound":    one((*draw).bound),
		"lexbound": of("lexbound", []string{"-", "+", "[a", "(a", "[c", "(d", "[f", "[1", "(5", "[zzz"},
			[]string{"[", "(", "a", "", "[\x00", "(\xff", "*", "--"}),
		"seconds": one((*draw).seconds),
		"millis":  one(func(d *draw) string { return thousandfold(d.seconds()) }),
		"at":      one(func(d *draw) string { return afterNow(d.seconds()) }),
		"atms":    one(func(d *draw) string { return thousandfold(afterNow(d.seconds())) }),
		"pattern": of("pattern", []string{"*", "k*", "?1", "[ab]*", "*1", "f*", "a", "el*"}, []string{"", "[", "\\", "[^a]*", "**", "[b-a]", "k[", "\xff*"}),
		"db":      of("db", []string{"0", "1", "2"}, append([]string{"15", "16", "-1"}, noNumbers()...)),
		"word":    of("word", []string{"NX", "XX", "GT", "LT", "CH", "INCR", "GET", "COUNT", "no", "WITHSCORES", "LIMIT", "STORE"}, []string{""}),
		"field":   one((*draw).field),
		"bit":     of("bit", []string{"0", "1", "1"}, []string{"2", "-1", "x", ""}),
		"offset":  of("offset", append(numbersUpTo(9), "15", "16", "31", "63", "64", "100", "511", "1000", "8192"), []string{"-1", "x", "", "4294967296", bigInt, "1.0", "#1"}),
		"integer": of("integer", []string{"u1", "u4", "u7", "u8", "u16", "u31", "u32", "u63", "i1", "i2", "i5", "i8", "i16", "i32", "i63", "i64"}, []string{"u0", "u64", "i65", "i0", "u", "", "x8", "U8", "i-1"}),
		"amount":  of("amount", []string{"0", "1", "-1", "2", "7", "127", "128", "255", "256", "-128", "-129", "65535", "2147483648", "4294967295"}, append(noNumbers(), bigInt, smallInt)),
	}
	for name, n := range map[string]int{"elements": 150, "hundreds": 600} {
		g[name] = func(d *draw) []string { return d.many(n) }
	}
	g["sketch"] = of("sketch", sketches(), nil)
	addStreamGenerators(g, of)
	addGeoGenerators(g, of)
	addFieldGenerators(g)
	return g
}

// key is one of few names; most are of the family's own type.
func (d *draw) key() string {
	return d.pick("key", []string{"k1", "k2", "k3", "k1", "k2", "k3", "k4"}, []string{"wrong", "wrong", "none", "", "k\x00\xff"})
}

func (d *draw) value() string {
	return d.pick("value", []string{"1", "10", "-5", "abc", "hello world", "3.5", strings.Repeat("x", 44), strings.Repeat("y", 45), "", "\x00\xff\r\n",
		strings.Repeat("ab", 200)}, []string{"0", bigInt, smallInt, "9223372036854775808", "007", " 1", "1e3", "inf", "nan", "-0",
		strings.Repeat("z", 40000), "4611686018427387904"})
}

// element is a member of a collection: small ones come again, numbers and long ones make it change its encoding.
func (d *draw) element() string {
	return d.pick("element", []string{"a", "b", "c", "d", "e", "f", "1", "2", "3", "5", "-1", "100"}, []string{"", "0", "70000", "5000000000", bigInt, smallInt,
		"9223372036854775808", "01", "1.5", strings.Repeat("m", 64), strings.Repeat("n", 65), strings.Repeat("p", 300), "\x00\xff", "a b\r\n"})
}

func (d *draw) field() string {
	return d.pick("field", []string{"f1", "f2", "f3", "f4", "f5", "a", "1"}, []string{"", strings.Repeat("f", 65), "\x00", "-1", "f6"})
}

// many are n elements with names from a range.
func (d *draw) many(n int) (list []string) {
	from := rapid.IntRange(0, 50).Draw(d.T, "from")
	prefix := rapid.SampledFrom([]string{"", "el", "el"}).Draw(d.T, "prefix")
	for i := range n {
		list = append(list, prefix+strconv.Itoa(from+i))
	}
	return list
}

// bound is an end of a range of scores.
func (d *draw) bound() string {
	b := d.pick("bound", []string{"-inf", "+inf", "0", "1", "2", "3", "1.5", "-1", "10"}, []string{"inf", "nan", "x", "", "-0", "1e400", "("})
	if rapid.IntRange(0, 3).Draw(d.T, "open") == 3 {
		return "(" + b
	}
	return b
}

// seconds is a time from now on: far away, or over.
func (d *draw) seconds() string {
	odd := append([]string{"0", "-1", bigInt, smallInt}, noNumbers()...)
	if n := rapid.IntRange(0, 12).Draw(d.T, "seconds"); n > 2 {
		return strconv.Itoa(10000*n + 20*d.step)
	}
	return rapid.SampledFrom(odd).Draw(d.T, "odd")
}

// aTime tells whether a text is a time that is far away, and which.
func aTime(s string) (n int64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 10000 && n < 1<<50 && s == strconv.FormatInt(n, 10)
}

func thousandfold(s string) string {
	if _, ok := aTime(s); ok {
		return s + "000"
	}
	return s
}

const farFuture = 4_000_000_000 // 2096

func afterNow(s string) string {
	if n, ok := aTime(s); ok {
		return strconv.FormatInt(farFuture+n, 10)
	}
	return s
}

// command draws one command. A few are then broken: an argument too many, too few, or another one.
func (d *draw) command() []string {
	d.step++
	t := d.f.templates[rapid.SampledFrom(d.f.wheel).Draw(d.T, "template")]
	var args []string
	for _, n := range t.parts {
		args = n.draw(d, args)
	}
	if asItIs(args) {
		return args
	}
	switch rapid.IntRange(0, 60).Draw(d.T, "broken") { // never by a small number, which might be a time that is over soon
	case 58:
		args = args[:max(1, len(args)-1)]
	case 59:
		args = append(args, d.pick("extra", []string{"k1", "0", "WITHSCORES", "x"}, nil))
	case 60:
		if i := rapid.IntRange(0, len(args)-1).Draw(d.T, "which"); i > 0 {
			args[i] = d.pick("instead", append([]string{"0", "-1", "NX", "COUNT", "wrong"}, noNumbers()...), nil)
		}
	}
	return args
}

// asItIs tells whether a command must not be broken: it waits for something, and for ever if its timeout is changed, or it
// makes something of which others know what it is, or it is a script, whose errors have the name of the script.
func asItIs(args []string) bool {
	for _, prefix := range []string{"BL", "BR", "BZ"} {
		if strings.HasPrefix(args[0], prefix) {
			return true
		}
	}
	return slices.Contains(args, "BLOCK") || args[0] == "EVAL" || slices.Contains(args, "known") || strings.HasPrefix(args[min(1, len(args)-1)], "lex")
}
