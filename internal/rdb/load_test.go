package rdb

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

// populate fills a server with every type, in its small and its big form, and with borders of the encodings.
func populate(r *redis) {
	populateStrings(r)
	populateCollections(r)
	populateStreams(r)
	r.words("SELECT 3")
	r.words("SET elsewhere 1")
	r.words("SET soon 2 PX 10000000")
	r.words("SELECT 0")
	r.do("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function(keys, args) return 1 end)")
}

// oddTexts are texts of numbers, texts that only look like numbers, binary and long texts.
func oddTexts() []string {
	all := []string{"", "0", "-0", "01", "+1", " 1", "1 ", "127", "128", "-128", "-129", "32767", "32768", "-32768", "-32769",
		"2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "-9223372036854775808",
		"9223372036854775808", "1e5", "3.14", "\x00\xff\r\n\x80", "caf\xc3\xa9"}
	for _, n := range []int{19, 20, 21, 22, 63, 64, 65, 4095, 4096, 16383, 16384, 70000, 300000} {
		all = append(all, strings.Repeat("a", n), incompressible(n))
	}
	return all
}

// incompressible is text in which no three bytes come twice near each other.
func incompressible(n int) string {
	b := make([]byte, n)
	x := uint64(n) + 12345
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x >> 33)
	}
	return string(b)
}

func populateStrings(r *redis) {
	for i, s := range oddTexts() {
		r.do("SET", fmt.Sprint("s", i), s)
	}
	r.do("SET", "", "key without a name")
	r.do("SET", "12345", "key that is a number")
	r.do("SET", strings.Repeat("k", 200), "key that is compressed")
	r.do("SET", "bin\x00\xff", "1", "PXAT", "33333333333333")
	r.words("SETRANGE gap 5000 x")
	r.words("PFADD hll a b c")
}

func populateCollections(r *redis) {
	odd := oddTexts()
	for _, size := range []int{1, 5, 600} {
		for i := range size {
			r.do("RPUSH", fmt.Sprint("list", size), odd[i%26])
			r.do("SADD", fmt.Sprint("set", size), fmt.Sprint("member", i), odd[i%26])
			r.do("SADD", fmt.Sprint("ints", size), fmt.Sprint(i*i-20))
			r.do("ZADD", fmt.Sprint("zset", size), fmt.Sprint(float64(i)/3-7), fmt.Sprint("m", i), fmt.Sprint(i), odd[i%26])
			r.do("HSET", fmt.Sprint("hash", size), fmt.Sprint("field", i), odd[i%26], fmt.Sprint(i), odd[(i+3)%26])
		}
	}
	for _, s := range odd[26:] { // long elements
		r.do("RPUSH", "list-long", s)
		r.do("SADD", "set-long", s)
		r.do("ZADD", "zset-long", fmt.Sprint(len(s)), s)
		r.do("HSET", "hash-long", s, s)
	}
	r.words("SADD ints32 -70000 1 70000")
	r.words("SADD ints64 -9223372036854775808 0 9223372036854775807")
	r.words("ZADD edges inf a -inf b 1e300 c -1e-300 d 0.1 e 3 f 3 g 9007199254740993 h")
	for i := range 600 { // the same scores in a skiplist
		r.do("ZADD", "edges-big", []string{"inf", "-inf", "1e300", "0.1", "7"}[i%5], fmt.Sprint("m", i))
	}
	for i := range 500 { // a list of several nodes, some of them compressed inside the server
		r.do("RPUSH", "list-nodes", fmt.Sprint("element number ", i, " ", strings.Repeat("pad", 20)))
	}
}

func populateStreams(r *redis) {
	for i := range 250 { // three nodes
		r.do("XADD", "stream", fmt.Sprintf("%d-%d", 1000+i/3, i%3+1), "field", fmt.Sprint(i), "same", "text")
	}
	r.words("XADD stream 5000-0 other names too many 12 -5")
	r.words("XADD stream 5000-1 other names too many 12 -5")
	r.words("XADD stream 5000-18446744073709551615 a 1")
	r.words("XDEL stream 1000-1 1001-2 5000-0")
	r.words("XGROUP CREATE stream readers 0")
	r.words("XGROUP CREATE stream idle $")
	r.words("XREADGROUP GROUP readers alice COUNT 5 STREAMS stream >")
	r.words("XREADGROUP GROUP readers bob COUNT 3 STREAMS stream >")
	r.words("XGROUP CREATECONSUMER stream readers carol")
	r.words("XACK stream readers 1001-1")
	r.words("XREADGROUP GROUP readers bob COUNT 3 STREAMS stream 0")
	r.words("XADD emptied 5-5 a b")
	r.words("XDEL emptied 5-5")
	r.words("XGROUP CREATE fresh g $ MKSTREAM")
	r.words("XADD one 1-1 a b")
	r.words("XADD trimmed 1-1 a b")
	r.words("XADD trimmed 2-1 c d")
	r.words("XTRIM trimmed MAXLEN 1")
}

func TestLoadWhatRedisWrote(t *testing.T) {
	r := startRedis(t, "", "--list-compress-depth", "1", "--proto-max-bulk-len", "1gb")
	populate(r)
	for _, compression := range []string{"yes", "no"} {
		r.words("CONFIG SET rdbcompression " + compression)
		file := r.save()
		want := ask(r, 0, 3)
		for _, packs := range []bool{false, true} {
			got, sum := decode(t, file, packs)
			compare(t, got, want)
			if sum.Checksum != ChecksumRight || sum.Version != 10 || sum.Bytes != int64(len(file)) || sum.Keys != uint64(len(want.keys)) {
				t.Errorf("summary %+v for %d keys in %d bytes", sum, len(want.keys), len(file))
			}
			checkFileFields(t, got)
		}
	}
}

func checkFileFields(t *testing.T, got *model) {
	t.Helper()
	if got.aux["redis-ver"] != "7.0.15" || got.aux["redis-bits"] != "64" || got.aux["aof-base"] != "0" {
		t.Errorf("fields of the file: %v", got.aux)
	}
	if len(got.libraries) != 1 || !strings.HasPrefix(got.libraries[0], "#!lua name=lib\n") {
		t.Errorf("libraries: %q", got.libraries)
	}
	if len(got.sizes) != 2 || got.sizes[1] != "2 1" {
		t.Errorf("sizes: %q", got.sizes)
	}
	kinds := map[Type]bool{}
	for _, typ := range got.types {
		kinds[typ] = true
	}
	want := []Type{TypeString, TypeSet, TypeHash, TypeZSet, TypeSetIntset, TypeHashListpack, TypeZSetListpack, TypeListListpacks, TypeStream2}
	if seen := slices.Sorted(maps.Keys(kinds)); !slices.Equal(seen, want) {
		t.Errorf("types in the file: %v, want %v", seen, want)
	}
}

func TestLoadIdleAndFrequency(t *testing.T) {
	r := startRedis(t, "", "--maxmemory-policy", "allkeys-lru")
	r.words("SET a 1")
	got, _ := decode(t, r.save(), false)
	if idle, told := got.idle["0 a"]; !told || idle > 60 {
		t.Errorf("idle time %v", got.idle)
	}
	r.words("CONFIG SET maxmemory-policy allkeys-lfu")
	r.words("SET b text")
	got, _ = decode(t, r.save(), false)
	if freq, told := got.freq["0 b"]; !told || freq != 5 {
		t.Errorf("frequencies %v", got.freq)
	}
}

func TestLoadWithoutChecksum(t *testing.T) {
	r := startRedis(t, "", "--rdbchecksum", "no")
	r.words("SET a 1")
	if _, sum := decode(t, r.save(), false); sum.Checksum != ChecksumDisabled {
		t.Errorf("%+v", sum)
	}
}

// Whatever the reader gives at a time, the values are the same, and the memory of the decoder stays small.
func TestLoadInSmallPieces(t *testing.T) {
	r := startRedis(t, "")
	populate(r)
	file := r.save()
	want, _ := decode(t, file, false)
	for _, piece := range []int{1, 7, 4096} {
		got := newModel(false)
		d := NewDecoder(&pieces{b: append(bytes.Clone(file), "what follows"...), n: piece}, Options{})
		if _, err := d.Decode(got); err != nil {
			t.Fatal(err)
		}
		compare(t, got, want)
		rest := new(bytes.Buffer)
		if _, err := rest.ReadFrom(d.Rest()); err != nil || rest.String() != "what follows" {
			t.Errorf("rest is %q, %v", rest, err)
		}
	}
}

// pieces is a reader that gives at most n bytes at a time.
type pieces struct {
	b []byte
	n int
}

func (p *pieces) Read(dst []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, p.b[:min(p.n, len(p.b))])
	p.b = p.b[n:]
	return n, nil
}
