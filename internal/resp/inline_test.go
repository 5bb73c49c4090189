package resp

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"", []string{}},
		{" \t\v\f\r\n", []string{}},
		{"a bc  d", []string{"a", "bc", "d"}},
		{"\va\fb c\v", []string{"a\fb", "c\v"}}, // these blanks separate only where a word might start
		{"a\rb\nc\td", []string{"a", "b", "c", "d"}},
		{`""`, []string{""}},
		{`'' ""`, []string{"", ""}},
		{`"a b" 'c d'`, []string{"a b", "c d"}},
		{"\"a\"\v'b'", []string{"a", "b"}},
		{`x"y z"`, []string{"xy z"}},
		{`x'y z' "w"`, []string{"xy z", "w"}},
		{`"\n\r\t\b\a"`, []string{"\n\r\t\b\a"}},
		{`"\\ \" \q \'"`, []string{`\ " q '`}},
		{`"\x41\x6a\xFf\x00"`, []string{"Aj\xff\x00"}},
		{`"\x4\xg1\x"`, []string{"x4xg1x"}},
		{`'\n \\ \x41 \''`, []string{`\n \\ \x41 '`}},
		{`a\"b"`, []string{`a\b`}},
		{`a\"b`, nil},
		{`\n`, []string{`\n`}},
		{`'"' "'"`, []string{`"`, `'`}},
		{"a\x00b c", []string{"a"}},
		{"caf\xc3\xa9 \xff", []string{"caf\xc3\xa9", "\xff"}},
		{`"a`, nil},
		{`'a`, nil},
		{`'a\'`, nil},
		{`"a\"`, nil},
		{`"a\`, nil},
		{`"a"b`, nil},
		{`'a'b`, nil},
		{`"a""b"`, nil},
		{"\"a\x00\"", nil},
		{"\"a\"\x00b", []string{"a"}},
	} {
		words, ok := SplitWords([]byte(c.line), nil)
		if got := texts(words); ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.line, got, ok, c.want)
		}
	}
}

// quote writes a word so that SplitWords reads it.
func quote(t *rapid.T, dst, word []byte) []byte {
	if plain := !bytes.ContainsAny(word, "\"' \t\n\r\v\f\x00"); plain && len(word) > 0 && rapid.Bool().Draw(t, "plain") {
		return append(dst, word...)
	}
	dst = append(dst, '"')
	for _, c := range word {
		const hex = "0123456789abcdef"
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c > '~':
			dst = append(dst, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

func TestSplitWordsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 10)).Draw(t, "words")
		var line []byte
		for _, word := range words {
			line = append(quote(t, line, word), rapid.SampledFrom([]string{" ", "\t", "  "}).Draw(t, "blanks")...)
		}
		got, ok := SplitWords(bytes.Clone(line), nil)
		if !ok || !slices.EqualFunc(got, words, bytes.Equal) {
			t.Fatalf("%q: %q, %v", line, got, ok)
		}
	})
}

func FuzzSplitWords(f *testing.F) {
	f.Add([]byte(`SET "a\x41\n" 'b\'c' d"e"`))
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		words, ok := SplitWords(line, nil)
		length := 0
		for _, word := range words {
			length += len(word)
		}
		if length > len(line) {
			t.Fatalf("%q: %q is longer", before, words)
		}
		if !bytes.ContainsAny(before, "\"'") && !ok {
			t.Fatalf("%q has no quotes to be left open", before)
		}
	})
}

func BenchmarkSplitWords(b *testing.B) {
	text := []byte(`SET key:12345 "a value with \"quotes\""`)
	line := make([]byte, len(text))
	words := make([][]byte, 0, 8)
	b.ReportAllocs()
	for b.Loop() {
		copy(line, text)
		SplitWords(line, words)
	}
}
