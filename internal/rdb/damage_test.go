package rdb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/rdb/packed"
	"github.com/covey-db/covey/internal/rdb/packed/packedtest"
)

func decodeError(file []byte, b Builder) error {
	_, err := NewDecoder(bytes.NewReader(file), Options{}).Decode(b)
	return err
}

// The public cases c103, c109 and e260 to e265: a damaged dump.rdb is refused with the place and the key.
func TestDamagedFiles(t *testing.T) {
	good := fileOf(10, kept(TypeString, "k", str("v")))
	for _, c := range []struct {
		name, file string
		want       error
		text       string // part of the message
	}{
		{"empty file", "", io.ErrUnexpectedEOF, "at offset 0"},
		{"cut head", "REDIS00", io.ErrUnexpectedEOF, "at offset 0"},
		{"magic (e260)", "RADIS0010", ErrMagic, "not an RDB file"},
		{"version of the far future (e261)", "REDIS0099", ErrVersion, "unknown RDB version"},
		{"version zero", "REDIS0000", ErrVersion, ""},
		{"version in letters", "REDIS00x1", ErrVersion, ""},
		{"checksum (e262)", string(good[:len(good)-1]) + "x", ErrChecksum, "at offset " + fmt.Sprint(len(good))},
		{"value type (e265)", string(fileOf(10, "\x63\x01k\x01v")), ErrType, "at offset 10"},
		{"NaN as a score (c109)", string(fileOf(10, kept(TypeZSet, "z", "\x01\x01m\x00\x00\x00\x00\x00\x00\xf8\x7f"))), ErrScore, `key "z"`},
		{"NaN as text", string(fileOf(4, kept(TypeZSetText, "z", "\x01\x01m\xfd"))), ErrScore, `key "z"`},
		{"score that is no number", string(fileOf(4, kept(TypeZSetText, "z", "\x01\x01m\x02xx"))), ErrScore, `key "z"`},
		{"key twice (c103)", string(fileOf(10, kept(TypeString, "k", "\x01v")+kept(TypeString, "k", "\x01v"))), ErrDuplicate, `key "k"`},
		{"function of a release candidate", string(fileOf(10, "\xf6\x01x")), ErrPreGA, ""},
		{"module of a release candidate", string(fileOf(10, kept(TypeModulePreGA, "m", "\x01x"))), ErrPreGA, `key "m"`},
		{"length form", string(fileOf(10, kept(TypeString, "k", "\x82"))), ErrLength, `key "k"`},
		{"string form", string(fileOf(10, kept(TypeString, "k", "\xc4"))), ErrStringForm, ""},
		{"number as a length", string(fileOf(10, kept(TypeList, "k", "\xc0\x01"))), ErrLength, ""},
		{"database", string(fileOf(10, "\xfe\x81\xff\xff\xff\xff\xff\xff\xff\xff")), ErrLength, ""},
		{"list node form", string(fileOf(10, kept(TypeListListpacks, "l", "\x01\x03\x01a"))), ErrNode, ""},
		{"empty list node", string(fileOf(10, kept(TypeListListpacks, "l", "\x01\x01\x00"))), ErrNode, ""},
		{"module part", string(fileOf(10, kept(TypeModule, "m", "\x01\x06"))), ErrModulePart, ""},
		{"module data part", string(fileOf(10, "\xf7\x01\x01\x02")), ErrModulePart, ""},
		{"expiry of a field", string(fileOf(12, kept(TypeHashTTLPreGA, "h", "\x01"+string(AppendLen(nil, 1<<60))+"\x01f\x01v"))), ErrFieldExpiry, ""},
		{"expiry of a field wraps", string(fileOf(12, kept(TypeHashTTL, "h", "\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02\x01f\x01v"))), ErrFieldExpiry, ""},
		{"expiry of a field is text", string(fileOf(12, kept(TypeHashTTLPackPre, "h", listpackText("f", "v", "x")))), ErrFieldExpiry, ""},
		{"field without expiry", string(fileOf(12, kept(TypeHashTTLPackPre, "h", listpackText("f", "v")))), ErrOddPairs, ""},
	} {
		err := decodeError([]byte(c.file), newModel(false))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || !IsDamage(err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestLongKeyInMessageIsCut(t *testing.T) {
	err := decodeError(fileOf(10, kept(TypeString, strings.Repeat("k", 10000), "\xc4")), &Nop{})
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("%v", err)
	}
}

func TestDamagedMembers(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       error
	}{
		{"member twice", "\x14" + listpackText("a", "b", "a"), ErrDuplicate},
		{"number twice, once as text", "\x14" + blob([]byte("\x0c\x00\x00\x00\x02\x00\x815\x02\x05\x01\xff")), ErrDuplicate},
		{"field twice", "\x10" + listpackText("f", "v", "f", "w"), ErrDuplicate},
		{"field twice in a zipmap", "\x09" + blob(packedtest.Zipmap([]string{"f", "v", "f", "w"}, 0)), ErrDuplicate},
		{"field twice in a ziplist", "\x0d" + blob(packedtest.Ziplist([]string{"1", "v", "1", "w"})), ErrDuplicate},
		{"field twice with expiry", "\x17" + listpackText("f", "v", "0", "f", "w", "0"), ErrDuplicate},
		{"member of a zset twice", "\x11" + listpackText("m", "1", "m", "2"), ErrDuplicate},
		{"member without score", "\x11" + listpackText("m"), ErrOddPairs},
		{"score is text", "\x11" + listpackText("m", "one"), ErrScore},
		{"score is nan", "\x11" + listpackText("m", "nan"), ErrScore},
		{"zipmap", "\x09" + blob([]byte("\x01\x01a\xff")), packed.ErrZipmapElement},
		{"ziplist", "\x0a" + blob([]byte("\x0b\x00\x00\x00\x0a\x00\x00\x00\x01\x00\xff")), packed.ErrZiplistCount},
		{"ziplist in a list", "\x0e\x01" + blob([]byte("x")), packed.ErrZiplistHead},
		{"listpack in a list", "\x12\x01\x02" + blob([]byte("x")), packed.ErrListpackHead},
	} {
		if _, err := restore(closed(c.body)); !errors.Is(err, c.want) || !errors.Is(err, ErrDumpData) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A sorted set whose listpack is not in order is not offered as it is, or the order would be wrong for ever.
func TestUnorderedZSetIsGivenByElement(t *testing.T) {
	for body, offered := range map[string]bool{
		listpackText("a", "1", "b", "2"):  true,
		listpackText("a", "1", "b", "1"):  true,
		listpackText("b", "1", "a", "1"):  false,
		listpackText("b", "2", "a", "1"):  false,
		listpackText("b", "-1", "a", "0"): true,
	} {
		m := &offers{model: newModel(true)}
		if err := decodeDump(closed("\x11"+body), m); err != nil || m.seen != offered {
			t.Errorf("%q: offered %v, %v", body, m.seen, err)
		}
	}
}

type offers struct {
	*model
	seen bool
}

func (o *offers) Packed(p Packed) (bool, error) { o.seen = true; return o.model.Packed(p) }

// Text of a number in a listpack is given as a number, which is what a lookup would search for.
func TestListpackIsOfferedInUsualForm(t *testing.T) {
	odd := blob([]byte("\x0c\x00\x00\x00\x02\x00\x815\x02\x06\x01\xff"))
	c := newCopier(true, false)
	if err := decodeDump(closed("\x10"+odd), c); err != nil || string(c.body) != listpackText("5", "6") {
		t.Errorf("%q, %v", c.body, err)
	}
}

// node is a stream node of elements written as text.
func node(elems string) string {
	return blob(AppendStreamID(nil, StreamID{5, 0})) + listpackText(strings.Fields(elems)...)
}

func TestDamagedStreams(t *testing.T) {
	tail := "\x01\x06\x00\x05\x00\x00\x00\x01" // length, last ID 6-0, first ID, deleted ID, added
	good := "1 0 1 f 0 2 0 1 v 4"
	for _, c := range []struct {
		name, nodes, tail string
		want              error
	}{
		{"right", "\x01" + node(good), tail + "\x00", nil},
		{"own names", "\x01" + node("1 0 0 0 0 0 1 1 f v 6"), tail + "\x00", nil},
		{"no master ID", "\x01\x01x" + listpackText("1"), "", ErrStreamID},
		{"no entries", "\x01" + node("0 0 0 0"), tail, ErrStreamNode},
		{"count too great", "\x01" + node("2 0 1 f 0 2 0 1 v 4"), tail, ErrStreamNode},
		{"count too small", "\x01" + node("1 0 1 f 0 2 0 1 v 4 2 0 2 v 4"), tail, ErrStreamNode},
		{"count beyond all bounds", "\x01" + node("9223372036854775807 9223372036854775807 0 0"), tail, ErrStreamNode},
		{"deleted count", "\x01" + node("0 1 1 f 0 2 0 1 v 4"), tail, ErrStreamNode},
		{"names beyond the end", "\x01" + node("1 0 99999999999 f 0 2 0 1 v 4"), tail, ErrStreamNode},
		{"own names beyond the end", "\x01" + node("1 0 0 0 0 0 1 9223372036854775807 f v 6"), tail, ErrStreamNode},
		{"negative names", "\x01" + node("1 0 -1 0 2 0 1 3"), tail, ErrStreamNode},
		{"master not closed", "\x01" + node("1 0 1 f 1 2 0 1 v 4"), tail, ErrStreamNode},
		{"number of elements", "\x01" + node("1 0 1 f 0 2 0 1 v 5"), tail, ErrStreamNode},
		{"text for a number", "\x01" + node("1 0 1 f 0 2 x 1 v 4"), tail, ErrStreamNode},
		{"entry twice", "\x01" + node("2 0 1 f 0 2 0 1 v 4 2 0 1 v 4"), tail, ErrStreamOrder},
		{"node twice", "\x02" + node(good) + node(good), tail, ErrStreamOrder},
		{"last ID before the last entry", "\x01" + node(good), "\x01\x04\x00\x05\x00\x00\x00\x01\x00", ErrStreamLastID},
		{"length without entries", "\x00", tail + "\x00", ErrStreamLength},
		{"group cut", "\x01" + node(good), tail + "\x01\x01g", io.ErrUnexpectedEOF},
		{"pending entries cut", "\x01" + node(good), tail + "\x01\x01g\x00\x00\x00\x81\xff\xff\xff\xff\xff\xff\xff\xff", io.ErrUnexpectedEOF},
		{"owner of nothing", "\x01" + node(good), tail + "\x01\x01g\x00\x00\x00\x00\x01\x01c" + strings.Repeat("\x00", 8) + "\x01" + strings.Repeat("\x00", 16), Damage("pending entry is not there or has an owner")},
	} {
		if _, err := restore(closed("\x13" + c.nodes + c.tail)); !errors.Is(err, c.want) || c.want != nil && !errors.Is(err, ErrDumpData) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// Wherever a file is cut, it is refused; whatever byte is changed, nothing but an error may happen.
func TestEveryCutAndEveryChangedByte(t *testing.T) {
	for _, name := range []string{"old_forms", "new_forms", "redis_7.0.15"} {
		file, err := os.ReadFile("testdata/" + name + ".rdb")
		if err != nil {
			t.Fatal(err)
		}
		for n := range file {
			if err := decodeError(file[:n], newModel(false)); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%s cut after %d bytes: %v", name, n, err)
			}
		}
		for n := headerBytes; n < len(file); n++ { // NB: another version may have no checksum
			changed := bytes.Clone(file)
			changed[n] ^= []byte{1, 0x80, 0xff}[n%3]
			if err := decodeError(changed, newModel(n%2 == 0)); err == nil {
				t.Fatalf("%s with byte %d changed was taken", name, n)
			}
		}
	}
}

// endless is a reader of ones that counts what it has given.
type endless struct{ given, end int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.given >= e.end {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.end-e.given))
	for i := range n {
		p[i] = 1
	}
	e.given += int64(n)
	return n, nil
}

// A length of a terabyte with a megabyte behind it costs memory for the megabyte.
func TestMemoryGrowsWithBytesNotWithClaims(t *testing.T) {
	claim := string(AppendLen(nil, 1<<40))
	for name, content := range map[string]string{
		"string":              kept(TypeString, "k", claim),
		"key":                 "\x00" + claim,
		"list":                kept(TypeList, "k", claim),
		"hash":                kept(TypeHash, "k", claim),
		"zset":                kept(TypeZSet, "k", claim),
		"listpack":            kept(TypeHashListpack, "k", claim),
		"compressed":          kept(TypeString, "k", "\xc3"+claim+claim),
		"compressed to much":  kept(TypeString, "k", "\xc3\x0a"+claim),
		"pending entries":     kept(TypeStream2, "k", "\x00"+strings.Repeat("\x00", 8)+"\x01\x01g\x00\x00\x00"+claim),
		"size of a database":  string([]byte{opResizeDB}) + claim + claim + kept(TypeString, "k", claim),
		"field of the file":   string([]byte{opAux}) + claim,
		"library":             string([]byte{opFunction}) + claim,
		"nodes of a stream":   kept(TypeStream2, "k", claim),
		"length that is huge": kept(TypeString, "k", string(AppendLen(nil, 1<<63))),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in := io.MultiReader(bytes.NewReader(fileOf(4, content)[:9+len(content)]), &endless{end: 1 << 20})
		_, err := NewDecoder(in, Options{}).Decode(&Nop{})
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: taken", name)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
	}
}

func TestStringLimit(t *testing.T) {
	for _, body := range []string{str(strings.Repeat("ab", 500)), string(AppendString(nil, bytes.Repeat([]byte("ab"), 500), new(checksum.LZF)))} {
		file := fileOf(10, kept(TypeString, "k", body))
		if _, err := NewDecoder(bytes.NewReader(file), Options{StringMax: 999}).Decode(&Nop{}); !errors.Is(err, ErrStringLong) {
			t.Errorf("%v", err)
		}
		if _, err := NewDecoder(bytes.NewReader(file), Options{StringMax: 1000}).Decode(&Nop{}); err != nil {
			t.Errorf("%v", err)
		}
	}
}

func TestUnsummedReaderIgnoresChecksum(t *testing.T) {
	file := fileOf(10, kept(TypeString, "k", "\x01v"))
	file[len(file)-1]++
	sum, err := NewDecoder(bytes.NewReader(file), Options{Unsummed: true}).Decode(&Nop{})
	if err != nil || sum.Checksum != ChecksumIgnored {
		t.Errorf("%+v, %v", sum, err)
	}
}

// An expiry before 1970 is one, and must not become "never".
func TestOddExpiries(t *testing.T) {
	content := string(AppendExpireMs(nil, -5)) + kept(TypeString, "past", "\x01v") +
		string(AppendExpireMs(nil, 0)) + kept(TypeString, "zero", "\x01v") +
		string(AppendExpireMs(nil, -1)) + kept(TypeString, "none", "\x01v") +
		"\xfd\xff\xff\xff\xff" + kept(TypeString, "seconds", "\x01v")
	m, _ := decode(t, fileOf(10, content), false)
	if m.ttl["0 past"] != 1 || m.ttl["0 zero"] != 1 || m.ttl["0 none"] != 0 || m.ttl["0 seconds"] != 1 {
		t.Errorf("%v", m.ttl)
	}
}

func TestReaderErrorIsNotDamage(t *testing.T) {
	own := errors.New("disk failure")
	in := io.MultiReader(strings.NewReader("REDIS0010\x00\x01k\x81\x00\x00\x00\x00\x00\x10\x00\x00"), errorReader{own})
	_, err := NewDecoder(in, Options{}).Decode(&Nop{})
	if !errors.Is(err, own) || IsDamage(err) {
		t.Errorf("%v", err)
	}
}

type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) { return 0, e.err }
