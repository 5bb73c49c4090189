package rdb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/checksum"
)

// dumpString is the payload of a string.
func dumpString(s []byte, lzf *checksum.LZF) []byte {
	return AppendDumpFooter(AppendString(AppendType(nil, TypeString), s, lzf), 0)
}

// decodeDump reads a payload.
func decodeDump(payload []byte, b ValueBuilder) error {
	body, err := VerifyDump(payload)
	if err != nil {
		return err
	}
	return DecodeValue(body, b)
}

// restore decodes a payload into the text of a model.
func restore(payload []byte) (string, error) {
	m := newModel(false)
	err := decodeDump(payload, m)
	return m.keys[""], err
}

// compressible returns texts that give a compressor much to choose from.
func compressible(n int) [][]byte {
	rng := rand.New(rand.NewPCG(11, 12))
	words := strings.Fields("alpha beta gamma delta user session cache {\"id\": 1234 } true false null 0000 aaaaaaaa \x00\x00\x00")
	var all [][]byte
	for i := range n {
		var b bytes.Buffer
		for size := 15 + rng.IntN(1<<(5+i%10)); b.Len() < size; {
			switch rng.IntN(4) {
			case 0:
				fmt.Fprintf(&b, "%d", rng.IntN(5000))
			case 1:
				b.WriteByte(byte(rng.IntN(1 << (1 + i%8))))
			default:
				b.WriteString(words[rng.IntN(len(words))])
			}
		}
		all = append(all, b.Bytes())
	}
	return all
}

func TestDumpOfStringsIsThatOfRedis(t *testing.T) {
	r := startRedis(t, "")
	var lzf checksum.LZF
	texts := compressible(1500)
	for _, s := range oddTexts() {
		texts = append(texts, []byte(s))
	}
	for i := int64(-70000); i < 70000; i += 613 {
		texts = append(texts, fmt.Append(nil, i), fmt.Append(nil, i*i*i))
	}
	for _, text := range texts {
		r.do("SET", "k", string(text))
		theirs := r.do("DUMP", "k").Text
		ours := dumpString(text, &lzf)
		if string(ours) != theirs {
			t.Fatalf("%.100q:\n ours %.200q\nRedis %.200q", text, ours, theirs)
		}
		if v := r.do("RESTORE", "k", "0", string(ours), "REPLACE"); v.Text != "OK" {
			t.Fatalf("RESTORE: %v", v)
		}
		if got := r.do("GET", "k").Text; got != string(text) {
			t.Fatalf("%.100q came back as %.100q", text, got)
		}
		if got, err := restore([]byte(theirs)); err != nil || got != fmt.Sprintf("string %q %q", []string{string(text)}, []string{}) {
			t.Fatalf("%.100q reads as %.100q, %v", text, got, err)
		}
	}
	r.words("CONFIG SET rdbcompression no")
	text := bytes.Repeat([]byte("ab"), 100)
	r.do("SET", "k", string(text))
	if theirs := r.do("DUMP", "k").Text; theirs != string(dumpString(text, nil)) {
		t.Errorf("not compressed: %q", theirs)
	}
}

// Public case e28h, as far as it concerns the codec: every type goes through DUMP both ways.
func TestDumpOfEveryType(t *testing.T) {
	r := startRedis(t, "")
	populate(r)
	for _, key := range r.words("KEYS *").Strings() {
		payload := r.do("DUMP", key).Text
		want := askValue(r, key)
		if got, err := restore([]byte(payload)); err != nil || got != want {
			t.Errorf("key %q: %v\n got %.500s\nwant %.500s", key, err, got, want)
		}
		for _, packs := range []bool{false, true} {
			c := newCopier(packs, true)
			if err := decodeDump([]byte(payload), c); err != nil {
				t.Fatal(err)
			}
			ours := string(AppendDumpFooter(append([]byte{byte(c.typ)}, c.body...), 0))
			r.do("RESTORE", "copy", "0", ours, "REPLACE")
			if got := askValue(r, "copy"); got != want {
				t.Errorf("key %q, compact %v:\n got %.500s\nwant %.500s", key, packs, got, want)
			}
		}
		r.do("DEL", "copy")
	}
}

func TestFunctionDump(t *testing.T) {
	r := startRedis(t, "")
	code := "#!lua name=lib\nredis.register_function('f', function(keys, args) return 1 end)"
	r.do("FUNCTION", "LOAD", code)
	r.do("FUNCTION", "LOAD", strings.ReplaceAll(strings.ReplaceAll(code, "lib", "lib2"), "'f'", "'g'"))
	payload := r.words("FUNCTION DUMP").Text
	var got []string
	use := func(code []byte) error { got = append(got, string(code)); return nil }
	if err := DecodeFunctions([]byte(payload), use); err != nil || len(got) != 2 {
		t.Fatalf("%q, %v", got, err)
	}
	var ours []byte
	for _, code := range got {
		ours = AppendFunction(ours, []byte(code), new(checksum.LZF))
	}
	r.words("FUNCTION FLUSH")
	r.do("FUNCTION", "RESTORE", string(AppendDumpFooter(ours, 0)))
	if again := r.words("FUNCTION DUMP").Text; len(again) != len(payload) {
		t.Errorf("%q, want %q", again, payload)
	}
	bad := AppendDumpFooter(dumpString([]byte("hi"), nil)[:4], 0)
	if err := DecodeFunctions(bad, use); !errors.Is(err, ErrDumpData) {
		t.Errorf("a value taken for functions: %v", err)
	}
}

// The payloads of the public cases, section dump. An empty want means that the payload is right.
func TestPublicDumpCases(t *testing.T) {
	for _, c := range []struct {
		id, payload string
		want        error  // ErrDumpFooter or ErrDumpData
		reason      error  // what is wrong with the data
		value       string // if nothing is
	}{
		{id: "e280", payload: "", want: ErrDumpFooter},
		{id: "e280", payload: "x", want: ErrDumpFooter},
		{id: "e281", payload: "\x00\xc0\n\n\x00n\x9fWE\x0e\xaec\xbb", value: `string ["10"] []`},
		{id: "e281", payload: "\x00\x02hi\x06\x009\x86\xf7h{d'\x87", value: `string ["hi"] []`},
		{id: "e281", payload: "\x00\x02hi\x0f'\xb2\x1d\x99=|\x17\xa7Y", want: ErrDumpFooter},
		{id: "e281", payload: "\x00\x02hi\n\x00\xafk\x9f\xe8\x8e1\x1b\x00", want: ErrDumpFooter},
		{id: "c109b", payload: "\x05\x01\x01m\x00\x00\x00\x00\x00\x00\xf8\x7f\n\x003\xb4\x0b\x1b\xd8\xcd\xe9\x82", want: ErrDumpData, reason: ErrScore},
		{id: "c184b", payload: "\x10\x10\x10\x00\x00\x00\x03\x00\x81a\x02\x81b\x02\x81c\x02\xff\n\x00\xf7\x95\x8dP\xe2{\xff\x14", want: ErrDumpData, reason: ErrOddPairs},
		{id: "c184d", payload: "\x10\r\xe7\x03\x00\x00\x02\x00\x81a\x02\x81b\x02\xff\n\x00M.\xefx~\xc7\xa2\xee", want: ErrDumpData},
		{id: "c184e", payload: "\x10\r\r\x00\x00\x00\x02\x00\x81a\x02\x81b\x02\x00\n\x00M\xef\xa6[U\xa8s\x01", want: ErrDumpData},
		{id: "e282", payload: "c\x02hi\n\x00\xb3\x0c\xd7\xea)\\~\xcf", want: ErrDumpData, reason: ErrType},
		{id: "e283", payload: "\x00?hi\n\x00\xb5\x15|l\xf0\x1e\x9d\x00", want: ErrDumpData, reason: io.ErrUnexpectedEOF},
		{id: "e285", payload: "\x01\x81\x10\x00\x00\x00\x00\x00\x00\x00\x01a\n\x00\xdbDXa\x14s\x84\xc3", want: ErrDumpData, reason: io.ErrUnexpectedEOF},
		{id: "e286", payload: "\x0b\n\x02\x00\x00\x00\x05\x00\x00\x00\x01\x00\n\x00\x15~\xdc\x0c[Iq\xd4", want: ErrDumpData},
		{id: "e287", payload: "\x0b\x0c\x02\x00\x00\x00\x02\x00\x00\x00\x05\x00\x05\x00\n\x00-\x1d8X8\xbc\xf2\x06", want: ErrDumpData},
		{id: "e289", payload: "\x04\x02\x01f\x01v\x01f\x01v\n\x00\x1c\x93 u&\x92\xef3", want: ErrDumpData, reason: ErrDuplicate},
		{id: "e28a", payload: "\x05\x02\x01m\x00\x00\x00\x00\x00\x00\xf0?\x01m\x00\x00\x00\x00\x00\x00\xf0?\n\x00|\xa2\xb1\xc2\xd6\xb6\xd6\xad", want: ErrDumpData, reason: ErrDuplicate},
		{id: "e28d", payload: "\x00\xc3\x05@c\x00a\xe0Z\x00\n\x00\xad\xbf\xa8\xcd\xbc\x1a\x0b\xe9", want: ErrDumpData, reason: checksum.ErrLZF},
		{id: "e28g", payload: "\x00\x02hijunk\n\x00/\xee\xf2\xb1\x10cl\x0f", want: ErrDumpData, reason: ErrTrailing},
	} {
		m := &strictModel{newModel(false)}
		err := decodeDump([]byte(c.payload), m)
		switch {
		case c.want == nil && (err != nil || m.keys[""] != c.value):
			t.Errorf("%s: %q, %v", c.id, m.keys[""], err)
		case c.want != nil && !errors.Is(err, c.want), c.reason != nil && !errors.Is(err, c.reason):
			t.Errorf("%s: %v, want %v: %v", c.id, err, c.want, c.reason)
		}
	}
}

// strictModel refuses an element that comes twice, as a real ValueBuilder does.
type strictModel struct{ *model }

func (m *strictModel) HashField(f, v []byte, at int64) error {
	for _, item := range m.items {
		if strings.HasPrefix(item, string(f)+"=") {
			return ErrDuplicate
		}
	}
	return m.model.HashField(f, v, at)
}

func (m *strictModel) ZSetElem(member []byte, score float64) error {
	for _, item := range m.items {
		if strings.HasPrefix(item, string(member)+"=") {
			return ErrDuplicate
		}
	}
	return m.model.ZSetElem(member, score)
}

// A payload with a right footer around any bytes, for tests and fuzzing of what is inside.
func closed(body string) []byte { return AppendDumpFooter([]byte(body), 0) }

// The ValueBuilder's own error is not the client's mistake.
func TestBuilderErrorIsNotBadData(t *testing.T) {
	own := errors.New("no memory")
	err := decodeDump(dumpString([]byte("v"), nil), &failing{err: own})
	if !errors.Is(err, own) || errors.Is(err, ErrDumpData) || IsDamage(err) {
		t.Errorf("%v", err)
	}
}

type failing struct {
	Nop
	err error
}

func (f *failing) String([]byte) error { return f.err }

// Fixtures written by a real server, so that the comparison works where none is installed.
func TestStoredFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.rdb")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		plain, sum := decode(t, file, false)
		compact, _ := decode(t, file, true)
		compare(t, compact, plain)
		want, err := os.ReadFile(strings.TrimSuffix(name, ".rdb") + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		if got := plain.text(sum); got != string(want) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}
