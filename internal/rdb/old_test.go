package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/rdb/packed"
	"github.com/covey-db/covey/internal/rdb/packed/packedtest"
)

// fileOf is a file of some version with the given content, closed as that version closes.
func fileOf(version int, content string) []byte {
	b := append(fmt.Appendf(nil, "REDIS%04d", version), content...)
	if version < checksumSince {
		return append(b, opEOF)
	}
	return AppendEOF(b, checksum.CRC64(0, b))
}

// kept is a key and its value, the value being written already.
func kept(t Type, key, value string) string {
	return string(AppendString([]byte{byte(t)}, []byte(key), nil)) + value
}

// str is a string as RDB stores it; strs are many behind their number, blob is one that is not shortened.
func str(s string) string { return string(AppendString(nil, []byte(s), nil)) }

func blob(b []byte) string { return string(append(AppendLen(nil, uint64(len(b))), b...)) }

func strs(elems ...string) string {
	b := AppendLen(nil, uint64(len(elems)))
	for _, e := range elems {
		b = AppendString(b, []byte(e), nil)
	}
	return string(b)
}

func listpackText(elems ...string) string {
	b := packed.AppendListpackHead(nil)
	for _, e := range elems {
		b = packed.AppendListpackString(b, []byte(e))
	}
	return blob(packed.FinishListpack(b, 0, len(elems)))
}

func textScores() string {
	b := []byte{6}
	for _, s := range []string{"1.5", "-3", "17", "2.5e-10"} {
		b = AppendString(b, []byte("m"+s), nil)
		b = append(append(b, byte(len(s))), s...)
	}
	b = append(AppendString(b, []byte("plus"), nil), scorePlus)
	b = append(AppendString(b, []byte("minus"), nil), scoreMinus)
	return string(b)
}

// oldValues is a file's content in the forms up to version 9, which Redis 7.0 still reads.
func oldValues(longest int) string {
	long := strings.Repeat("long text, ", 8)
	elems := []string{"a", "0", "12", "13", "-5", "200", "-40000", "9000000", "3000000000000", "", long, strings.Repeat("x", longest)}
	pairs := []string{"f1", "v1", "f2", "22", "33", long, long + "!", "", "", "empty"}
	scores := []string{"low", "-inf", "a", "1", "b", "1", "c", "2.5", "d", "17", "high", "inf"}
	lzf, _ := new(checksum.LZF).Compress(nil, []byte(long))
	compressed := string(append(AppendLen(AppendLen([]byte{encoded | encLZF}, uint64(len(lzf))), uint64(len(long))), lzf...))
	return string([]byte{opSelectDB, 0}) +
		string(binary.LittleEndian.AppendUint32([]byte{opExpire}, 2000000000)) + kept(TypeString, "seconds", str("v")) +
		string(AppendExpireMs(nil, 3000000000123)) + kept(TypeString, "milliseconds", str("v")) +
		kept(TypeString, "lzf", compressed) +
		kept(TypeList, "list", strs(elems...)) +
		kept(TypeSet, "set", strs(elems...)) +
		kept(TypeHash, "hash", string(AppendLen(nil, uint64(len(pairs)/2)))+strs(pairs...)[1:]) +
		kept(TypeZSetText, "zset-text", textScores()) +
		kept(TypeZSet, "zset", string(AppendDouble([]byte(string(AppendLen(nil, 1))+str("m")), math.Pi))) +
		kept(TypeHashZipmap, "zipmap", blob(packedtest.Zipmap(pairs, 3))) +
		kept(TypeListZiplist, "list-ziplist", blob(packedtest.Ziplist(elems))) +
		kept(TypeSetIntset, "intset", blob(packed.AppendIntset(nil, []int64{-70000, -1, 0, 5, 70000}))) +
		kept(TypeZSetZiplist, "zset-ziplist", blob(packedtest.Ziplist(scores))) +
		kept(TypeHashZiplist, "hash-ziplist", blob(packedtest.Ziplist(pairs))) +
		kept(TypeListZiplists, "list-ziplists", string(AppendLen(nil, 3))+blob(packedtest.Ziplist(elems))+blob(packedtest.Ziplist(nil))+compressedBlob(packedtest.Ziplist(elems)))
}

func compressedBlob(b []byte) string {
	return string(AppendString(nil, b, new(checksum.LZF)))
}

// Public case e269 and every other form that only old servers wrote: Redis and we read the same.
func TestOldFormsReadAsRedisReadsThem(t *testing.T) {
	for _, version := range []int{1, 2, 4, 5, 7, 9} {
		file := fileOf(version, oldValues(20000))
		r := startRedis(t, dirWith(t, file))
		want := ask(r, 0)
		for _, packs := range []bool{false, true} {
			got, sum := decode(t, file, packs)
			compare(t, got, want)
			if len(got.keys) != 14 || (sum.Checksum == ChecksumRight) != (version >= 5) {
				t.Errorf("version %d: %d keys, %+v", version, len(got.keys), sum)
			}
		}
	}
}

// streamAs turns the content of a file of Redis 7.0 into another form of streams.
func streamAs(t *testing.T, typ Type, key, payload string) string {
	t.Helper()
	c := &restreamer{copier: newCopier(true, false), as: typ}
	if err := decodeDump([]byte(payload), c); err != nil {
		t.Fatal(err)
	}
	return kept(typ, key, string(c.body))
}

// restreamer is a copier for the oldest or the newest form of streams.
type restreamer struct {
	*copier
	as Type
}

func (r *restreamer) StreamMeta(m StreamMeta) error {
	if r.as != TypeStream1 {
		return r.copier.StreamMeta(m)
	}
	r.stream.meta = appendLengthID(AppendLen(nil, m.Length), m.LastID)
	return nil
}

func (r *restreamer) StreamGroup(g StreamGroup) error {
	if err := r.copier.StreamGroup(g); err != nil || r.as != TypeStream1 {
		return err
	}
	r.stream.group = appendLengthID(AppendString(nil, g.Name, nil), g.LastID)
	return nil
}

func (r *restreamer) StreamConsumer(c StreamConsumer) error {
	if err := r.copier.StreamConsumer(c); err != nil || r.as != TypeStream3 {
		return err
	}
	r.stream.consumer = AppendMillis(r.stream.consumer, c.SeenAt-5)
	return nil
}

func TestFirstFormOfStreams(t *testing.T) {
	r := startRedis(t, "")
	populateStreams(r)
	content := string([]byte{opSelectDB, 0})
	for _, key := range r.words("KEYS *").Strings() {
		content += streamAs(t, TypeStream1, key, r.do("DUMP", key).Text)
	}
	for i, last := range []string{"999-1", "1000-2", "1040-1", "5000-18446744073709551615", "6000-0"} { // what a group may have read
		r.do("XGROUP", "CREATE", "stream", fmt.Sprint("g", i), last)
	}
	content += streamAs(t, TypeStream1, "groups", r.words("DUMP stream").Text)
	file := fileOf(9, content)
	got, _ := decode(t, file, false)
	want := ask(startRedis(t, dirWith(t, file)), 0)
	for key, value := range want.keys { // what Redis 7.0 takes for the first entry of an empty stream of this form
		want.keys[key] = strings.ReplaceAll(value, "first=18446744073709551615-18446744073709551615", "first=0-0")
	}
	compare(t, got, want)
}

// The third form of streams adds a time to every consumer.
func TestThirdFormOfStreams(t *testing.T) {
	r := startRedis(t, "")
	populateStreams(r)
	payload := r.words("DUMP stream").Text
	third := streamAs(t, TypeStream3, "stream", payload)
	m := &activeTimes{model: newModel(false)}
	if _, err := NewDecoder(strings.NewReader(string(fileOf(11, third))), Options{}).Decode(m); err != nil {
		t.Fatal(err)
	}
	if want := askValue(r, "stream"); m.keys["0 stream"] != want {
		t.Errorf("got  %.500s\nwant %.500s", m.keys["0 stream"], want)
	}
	if len(m.seen) != 3 {
		t.Errorf("%d consumers", len(m.seen))
	}
	for _, c := range m.seen {
		if c.ActiveAt != c.SeenAt-5 {
			t.Errorf("%+v", c)
		}
	}
}

type activeTimes struct {
	*model
	seen []StreamConsumer
}

func (a *activeTimes) StreamConsumer(c StreamConsumer) error {
	a.seen = append(a.seen, c)
	return a.model.StreamConsumer(c)
}

// newValues is a file's content in forms that only servers after 7.0 write, and module data.
func newValues() string {
	moduleID := uint64(0)
	for _, c := range "covey-tst" {
		moduleID = moduleID<<6 | uint64(strings.IndexRune(moduleAlphabet, c))
	}
	id := string(AppendLen(nil, moduleID<<10|3))
	parts := string([]byte{moduleSigned, 5, moduleUint, 0x40, 0x50, moduleFloat, 1, 2, 3, 4, moduleDouble, 1, 2, 3, 4, 5, 6, 7, 8}) +
		string([]byte{moduleString}) + str("text") + string([]byte{moduleEOF})
	return string([]byte{opModuleAux}) + id + string([]byte{moduleUint, 2}) + parts +
		string([]byte{opFunction}) + str("#!lua name=x\n") +
		string([]byte{opSelectDB, 0, opResizeDB, 5, 0, opSlotInfo, 0x40, 0x50, 3, 1}) +
		kept(TypeModule, "module", id+parts) +
		kept(TypeSetListpack, "set", listpackText("b", "a", "5", "-1000")) +
		kept(TypeHashTTLPack, "hash-pack", string(AppendMillis(nil, 1800000000000))+
			listpackText("f", "v", "1800000000000", "1", "2", "1900000000000", "g", "w", "0")) +
		kept(TypeHashTTLPackPre, "hash-pack-pre", listpackText("f", "v", "1800000000000", "g", "w", "0")) +
		kept(TypeHashTTL, "hash", string(AppendMillis(nil, 1800000000000))+"\x03"+
			"\x01"+str("f")+str("v")+"\x00"+str("g")+str("w")+"\x40\x65"+str("h")+str("x")) +
		kept(TypeHashTTLPreGA, "hash-pre", "\x02"+string(AppendLen(nil, 1800000000000))+str("f")+str("v")+"\x00"+str("g")+str("w"))
}

func TestNewForms(t *testing.T) {
	for _, packs := range []bool{false, true} {
		m, sum := decode(t, fileOf(12, newValues()), packs)
		for key, want := range map[string]string{
			"module":        `module [] []`,
			"set":           `set ["-1000" "5" "a" "b"] []`,
			"hash-pack":     `hash ["1=2 until 1900000000000" "f=v until 1800000000000" "g=w"] []`,
			"hash-pack-pre": `hash ["f=v until 1800000000000" "g=w"] []`,
			"hash":          `hash ["f=v until 1800000000000" "g=w" "h=x until 1800000000100"] []`,
			"hash-pre":      `hash ["f=v until 1800000000000" "g=w"] []`,
		} {
			if got := m.keys["0 "+key]; got != want {
				t.Errorf("%s: %s, want %s", key, got, want)
			}
		}
		if got := strings.Join(m.modules, "; "); got != "aux covey-tst 3 2; covey-tst 3" {
			t.Errorf("modules: %s", got)
		}
		if sum.Keys != 6 || len(m.libraries) != 1 {
			t.Errorf("%+v, libraries %q", sum, m.libraries)
		}
	}
}

func TestModuleCanBeRefused(t *testing.T) {
	_, err := NewDecoder(strings.NewReader(string(fileOf(12, newValues()))), Options{}).Decode(&noModules{})
	if !errors.Is(err, ErrModuleRefused) || !strings.Contains(err.Error(), `key "module"`) {
		t.Errorf("%v", err)
	}
}

type noModules struct{ Nop }

func (noModules) Module(ModuleID) error { return ErrModuleRefused }

// Keys without elements, which old servers could write, are skipped; in a payload they are damage.
func TestEmptyValues(t *testing.T) {
	empty := map[Type]string{
		TypeList: "\x00", TypeSet: "\x00", TypeHash: "\x00", TypeZSet: "\x00", TypeZSetText: "\x00",
		TypeListListpacks: "\x01\x02" + listpackText(), TypeListZiplists: "\x01" + blob(packedtest.Ziplist(nil)),
		TypeListZiplist: blob(packedtest.Ziplist(nil)), TypeHashZiplist: blob(packedtest.Ziplist(nil)),
		TypeZSetListpack: listpackText(), TypeHashListpack: listpackText(), TypeSetListpack: listpackText(),
		TypeHashTTL: "\x01\x00\x00\x00\x00\x00\x00\x00\x00", TypeSetIntset: blob(packed.AppendIntset(nil, nil)),
		TypeHashTTLPackPre: listpackText(),
	}
	content := ""
	for typ, value := range empty {
		content += string(AppendIdle(nil, 5)) + kept(typ, fmt.Sprint("empty", typ), value)
		if _, err := restore(closed(string([]byte{byte(typ)}) + value)); !errors.Is(err, ErrDumpData) || !errors.Is(err, ErrEmpty) {
			t.Errorf("type %d: %v", typ, err)
		}
	}
	m, sum := decode(t, fileOf(12, content+kept(TypeString, "full", str("v"))), false)
	if len(m.keys) != 1 || sum.Keys != 1 || sum.Empty != uint64(len(empty)) || len(m.idle) != 0 {
		t.Errorf("%v, %+v", m.keys, sum)
	}
}

// TestFixturesAreCurrent rewrites the stored fixtures if COVEY_UPDATE_FIXTURES is set, and otherwise compares them.
func TestFixturesAreCurrent(t *testing.T) {
	for name, file := range map[string][]byte{
		"old_forms": fileOf(9, oldValues(300)),
		"new_forms": fileOf(12, newValues()),
	} {
		if os.Getenv("COVEY_UPDATE_FIXTURES") != "" {
			storeFixture(t, name, file)
		}
		stored, err := os.Open("testdata/" + name + ".rdb")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(stored)
		if err != nil || string(b) != string(file) {
			t.Errorf("%s is not what the test writes: %v", name, err)
		}
		_ = stored.Close()
	}
	if os.Getenv("COVEY_UPDATE_FIXTURES") != "" {
		storeFixture(t, "redis_7.0.15", smallRedisFile(t))
	}
}

func storeFixture(t *testing.T, name string, file []byte) {
	t.Helper()
	m, sum := decode(t, file, false)
	if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile("testdata/"+name+".rdb", file, 0o644),
		os.WriteFile("testdata/"+name+".txt", []byte(m.text(sum)), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// smallRedisFile is a file of a real server with every type in every form, of a few kilobytes.
func smallRedisFile(t *testing.T) []byte {
	r := startRedis(t, "", "--hash-max-listpack-entries", "2", "--zset-max-listpack-entries", "2", "--set-max-intset-entries", "2",
		"--list-max-listpack-size", "3", "--stream-node-max-entries", "4")
	for _, command := range strings.Split(strings.TrimSpace(`
SET s text
SET n 12345
SET lzf aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
SET ttl v PXAT 3000000000123
RPUSH list a b c d 5 6 7
SADD ints 1 -70000
SADD set 1 2 3 x
ZADD zset 1 a 2.5 b
ZADD zset-big 1 a 2.5 b inf c
HSET hash f v 1 2
HSET hash-big f v 1 2 g w
XADD stream 1-1 f 1
XADD stream 1-2 f 2
XADD stream 2-1 g 3 h 4
XADD stream 3-1 f 5
XADD stream 4-1 f 6
XDEL stream 1-2
XGROUP CREATE stream group 0
XREADGROUP GROUP group alice COUNT 2 STREAMS stream >
XGROUP CREATECONSUMER stream group bob`), "\n") {
		r.words(command)
	}
	return r.save()
}
