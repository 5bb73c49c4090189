package rdb

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/checksum"
)

// A file that Redis wrote, read and written again in every way, is the same data for Redis.
func TestRedisLoadsWhatWeWrite(t *testing.T) {
	r := startRedis(t, "")
	populate(r)
	file := r.save()
	want := ask(r, 0, 3)
	digest := r.words("DEBUG DIGEST").Plain()
	for _, packs := range []bool{false, true} {
		for _, compress := range []bool{false, true} {
			t.Run(fmt.Sprintf("compact=%v,compressed=%v", packs, compress), func(t *testing.T) {
				c := newCopier(packs, compress)
				if _, err := NewDecoder(bytes.NewReader(file), Options{}).Decode(c); err != nil {
					t.Fatal(err)
				}
				again := c.finished()
				checkedByRedis(t, again)
				fresh := startRedis(t, dirWith(t, again))
				compare(t, ask(fresh, 0, 3), want)
				if got := fresh.words("DEBUG DIGEST").Plain(); got != digest {
					t.Errorf("digest %s, want %s", got, digest)
				}
				if list := fresh.words("FUNCTION LIST"); len(list.Items) != 1 {
					t.Errorf("functions: %v", list)
				}
				ours, _ := decode(t, again, false)
				compare(t, ours, want)
			})
		}
	}
}

// idleFile is a file with all that a key may have before it.
func idleFile(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, false)
	b := AppendHeader(nil, Header{CreatedAt: 1700000000, UsedMem: 1000, AOFBase: true})
	b = AppendResizeDB(AppendSelectDB(b, 0), 3, 1)
	b = AppendIdle(b, 1000)
	b = AppendString(AppendString(AppendType(b, TypeString), []byte("idle"), nil), []byte("v"), nil)
	b = AppendFreq(b, 77)
	b = AppendString(AppendString(AppendType(b, TypeString), []byte("often"), nil), []byte("v"), nil)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	b = AppendIdle(AppendExpireMs(b[:0], 33333333333333), 20)
	b = AppendInt(AppendString(AppendType(b, TypeString), []byte("both"), nil), -7)
	b = AppendResizeDB(AppendSelectDB(b, 15), 1, 0)
	big := []byte(strings.Repeat("big value ", 1<<18))
	b = AppendString(AppendString(AppendType(b, TypeString), []byte("big"), nil), big, new(checksum.LZF))
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if w.Size() != int64(out.Len()) {
		t.Errorf("size %d, want %d", w.Size(), out.Len())
	}
	return out.Bytes()
}

func TestIdleFrequencyAndExpiryReachRedis(t *testing.T) {
	file := idleFile(t)
	checkedByRedis(t, file)
	r := startRedis(t, dirWith(t, file), "--maxmemory-policy", "allkeys-lru")
	if idle := r.words("OBJECT IDLETIME idle").Int; idle < 1000 || idle > 1060 {
		t.Errorf("idle time %d", idle)
	}
	if at := r.words("PEXPIRETIME both").Int; at != 33333333333333 {
		t.Errorf("expires at %d", at)
	}
	r.words("SELECT 15")
	if n := r.words("STRLEN big").Int; n != 10<<18 {
		t.Errorf("big value has %d bytes", n)
	}
	r = startRedis(t, dirWith(t, file), "--maxmemory-policy", "allkeys-lfu")
	if freq := r.words("OBJECT FREQ often").Int; freq != 77 {
		t.Errorf("frequency %d", freq)
	}
	m, sum := decode(t, file, false)
	if m.idle["0 idle"] != 1000 || m.freq["0 often"] != 77 || m.idle["0 both"] != 20 || sum.Expires != 1 || m.aux["aof-base"] != "1" {
		t.Errorf("idle %v, frequency %v, %+v", m.idle, m.freq, sum)
	}
}

func TestFileWithoutChecksum(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, true)
	if _, err := w.Write(AppendHeader(nil, Header{})); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	checkedByRedis(t, out.Bytes())
	if _, sum := decode(t, out.Bytes(), false); sum.Checksum != ChecksumDisabled {
		t.Errorf("%+v", sum)
	}
}

// brokenPipe takes the first bytes only.
type brokenPipe struct{ left int }

var errPipe = errors.New("broken pipe")

func (b *brokenPipe) Write(p []byte) (int, error) {
	n := min(b.left, len(p))
	b.left -= n
	if n < len(p) {
		return n, errPipe
	}
	return n, nil
}

func TestWriterReportsErrors(t *testing.T) {
	w := NewWriter(&brokenPipe{left: 10}, false)
	if _, err := w.Write(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); !errors.Is(err, errPipe) || w.Size() != 10 {
		t.Errorf("size %d, %v", w.Size(), err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, errPipe) {
		t.Errorf("%v", err)
	}
}

// The head of a file, byte by byte: a change here is a change on disk.
func TestHeaderBytes(t *testing.T) {
	got := AppendHeader(nil, Header{CreatedAt: 1700000000, UsedMem: 123, AOFBase: true,
		Stream: &ReplayPoint{DB: 2, ID: "0123456789abcdef0123456789abcdef01234567", Offset: 5000000000}})
	want := "REDIS0010" +
		"\xfa\x09redis-ver\x057.2.4" +
		"\xfa\x0aredis-bits\xc0\x40" +
		"\xfa\x05ctime\xc2\x00\xf1\x53\x65" +
		"\xfa\x08used-mem\xc0\x7b" +
		"\xfa\x0erepl-stream-db\xc0\x02" +
		"\xfa\x07repl-id\x280123456789abcdef0123456789abcdef01234567" +
		"\xfa\x0brepl-offset\x0a5000000000" +
		"\xfa\x08aof-base\xc0\x01"
	if string(got) != want {
		t.Errorf("%q", got)
	}
}

func TestAppendLen(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "\x00", 63: "\x3f", 64: "\x40\x40", 16383: "\x7f\xff", 16384: "\x80\x00\x00\x40\x00",
		1<<32 - 1: "\x80\xff\xff\xff\xff", 1 << 32: "\x81\x00\x00\x00\x01\x00\x00\x00\x00", 1<<64 - 1: "\x81\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		if got := AppendLen(nil, n); string(got) != want {
			t.Errorf("%d: %q", n, got)
		}
		var d Decoder
		d.src = sourceOf([]byte(want))
		if got, err := d.length(); err != nil || got != n {
			t.Errorf("%q: %d, %v", want, got, err)
		}
	}
}
