package slot

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// slowCRC16 is the definition, a bit at a time.
func slowCRC16(b []byte) uint16 {
	var crc uint16
	for _, c := range b {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ xmodemPoly
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

func TestCRC16(t *testing.T) {
	if got := CRC16([]byte("123456789")); got != 0x31c3 { // the check value of the specification
		t.Errorf("CRC16(123456789) = %#x", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "bytes")
		if got, want := CRC16(b), slowCRC16(b); got != want {
			t.Fatalf("CRC16(%q) = %#x, want %#x", b, got, want)
		}
	})
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		key, hashed string
	}{
		{"", ""},
		{"foo", "foo"},
		{"{user1000}.following", "user1000"},
		{"{user1000}.followers", "user1000"},
		{"foo{}{bar}", "foo{}{bar}"},
		{"foo{{bar}}zap", "{bar"},
		{"foo{bar}{zap}", "bar"},
		{"foo{bar", "foo{bar"},
		{"foo}bar{", "foo}bar{"},
		{"}foo{bar}", "bar"},
		{"{}", "{}"},
		{"{", "{"},
		{"{a}", "a"},
		{"{\x00}", "\x00"},
	} {
		want := ID(slowCRC16([]byte(c.hashed)) % Count)
		if got := Of([]byte(c.key)); got != want {
			t.Errorf("Of(%q) = %d, want %d", c.key, got, want)
		}
	}
}

// The numbers that CLUSTER KEYSLOT answers.
func TestOfKnownKeys(t *testing.T) {
	for key, want := range map[string]ID{"foo": 12182, "bar": 5061, "hello": 866, "123456789": 12739, "": 0, "somekey": 11058,
		"foo{hello}": 866} {
		if got := Of([]byte(key)); got != want {
			t.Errorf("Of(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestOfAllocatesNothing(t *testing.T) {
	key := []byte("some{tag}key")
	if n := testing.AllocsPerRun(100, func() { Of(key) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzOf(f *testing.F) {
	f.Add([]byte("foo{bar}{zap}"))
	f.Fuzz(func(t *testing.T, key []byte) {
		want := key
		if _, after, ok := bytes.Cut(key, []byte("{")); ok {
			if tag, _, ok := bytes.Cut(after, []byte("}")); ok && len(tag) > 0 {
				want = tag
			}
		}
		if got := Of(key); got != ID(slowCRC16(want)%Count) {
			t.Fatalf("Of(%q) = %d", key, got)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	for _, key := range []string{"key:00012345", "user:00000000001", "some{tag}key", strings.Repeat("k", 64)} {
		b.Run(fmt.Sprint(len(key)), func(b *testing.B) {
			bytes := []byte(key)
			b.ReportAllocs()
			for b.Loop() {
				Of(bytes)
			}
		})
	}
}
