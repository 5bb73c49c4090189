package num

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestParseInt(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"7", 7, true},
		{"-1", -1, true},
		{"9223372036854775807", math.MaxInt64, true},
		{"-9223372036854775808", math.MinInt64, true},
		{"9223372036854775808", 0, false},
		{"-9223372036854775809", 0, false},
		{"9999999999999999999", 0, false},
		{"18446744073709551616", 0, false},
		{"92233720368547758070000", 0, false},
		{"", 0, false},
		{"-", 0, false},
		{"-0", 0, false},
		{"+1", 0, false},
		{"01", 0, false},
		{"-01", 0, false},
		{"00", 0, false},
		{" 1", 0, false},
		{"1 ", 0, false},
		{"1.0", 0, false},
		{"12x", 0, false},
		{"1\x00", 0, false},
		{"--1", 0, false},
		{"/", 0, false},
		{":", 0, false},
	} {
		if got, ok := ParseInt([]byte(c.text)); ok != c.ok || ok && got != c.want {
			t.Errorf("ParseInt(%q) = %d, %v", c.text, got, ok)
		}
	}
}

// A text is taken exactly when it is what AppendInt writes.
func FuzzParseInt(f *testing.F) {
	f.Add([]byte("-9223372036854775808"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := strconv.ParseInt(string(b), 10, 64)
		canonical := err == nil && strconv.FormatInt(n, 10) == string(b)
		if got, ok := ParseInt(b); ok != canonical || ok && got != n {
			t.Fatalf("ParseInt(%q) = %d, %v", b, got, ok)
		}
	})
}

func TestIntRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		if got, ok := ParseInt(AppendInt(nil, n)); !ok || got != n {
			t.Fatalf("%d, %v", got, ok)
		}
	})
}

func TestParseUint(t *testing.T) {
	for _, c := range []struct {
		text string
		want uint64
		ok   bool
	}{
		{"0", 0, true},
		{"18446744073709551615", math.MaxUint64, true},
		{"18446744073709551616", 0, false},
		{"99999999999999999999999", 0, false},
		{"-5", 0, false},
		{"", 0, false},
		{" ", 0, false},
		{"+", 0, false},
		{"-", 0, false},
		{"x", 0, false},
		{"5x", 0, false},
		{"5 ", 0, false},
		{"- 5", 0, false},
		{"0005", 5, true},
		{"+3", 3, true},
		{" \t\n\v\f\r4", 4, true},
		{"-05", math.MaxUint64 - 4, true},
		{"-0", 0, true},
		{"0018446744073709551615", math.MaxUint64, true},
	} {
		if got, ok := ParseUint([]byte(c.text)); ok != c.ok || ok && got != c.want {
			t.Errorf("ParseUint(%q) = %d, %v", c.text, got, ok)
		}
	}
}

func FuzzParseUint(f *testing.F) {
	f.Add([]byte("18446744073709551615"))
	f.Fuzz(func(t *testing.T, b []byte) {
		want, err := strconv.ParseUint(string(b), 10, 64)
		if got, ok := ParseUint(b); err == nil && (!ok || got != want) {
			t.Fatalf("ParseUint(%q) = %d, %v", b, got, ok)
		}
	})
}

func TestParseMemory(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"100", 100, true},
		{"1b", 1, true},
		{"1k", 1000, true},
		{"1Kb", 1024, true},
		{"5kB", 5120, true},
		{"512mb", 512 << 20, true},
		{"3M", 3000000, true},
		{"1gb", 1 << 30, true},
		{"10G", 10000000000, true},
		{"01", 1, true},
		{"", 0, true},   // so does Redis
		{"mb", 0, true}, // likewise
		{"9223372036854775807", math.MaxInt64, true},
		{"9223372036854775808", 0, false},
		{"8589934592gb", 0, false},
		{"8589934591gb", 8589934591 << 30, true},
		{"-1", 0, false},
		{"+1", 0, false},
		{" 1", 0, false},
		{"1 mb", 0, false},
		{"1t", 0, false},
		{"1mbx", 0, false},
		{"1.5gb", 0, false},
	} {
		if got, ok := ParseMemory([]byte(c.text)); ok != c.ok || ok && got != c.want {
			t.Errorf("ParseMemory(%q) = %d, %v", c.text, got, ok)
		}
	}
}

func TestHotPathsAllocateNothing(t *testing.T) {
	room := make([]byte, 0, 64)
	integer, double := []byte("-1234567890123"), []byte("-1.25e3")
	x, _ := ParseLongDouble([]byte("10.5"))
	for name, run := range map[string]func(){
		"ParseInt":      func() { ParseInt(integer) },
		"AppendInt":     func() { AppendInt(room, math.MinInt64) },
		"ParseFloat":    func() { ParseFloat(double) },
		"AppendFloat":   func() { AppendFloat(room, 1.1) },
		"AppendFixed17": func() { AppendFixed17(room, 1.1) },
		"ParseLong":     func() { ParseLongDouble([]byte("10.5")) },
		"AppendHuman":   func() { x.Add(x).AppendHuman(room) },
		"ParseMemory":   func() { ParseMemory([]byte("512mb")) },
	} {
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkParseInt(b *testing.B) {
	for _, text := range []string{"7", "1234567890", "-9223372036854775808"} {
		b.Run(text, func(b *testing.B) {
			bytes := []byte(text)
			b.ReportAllocs()
			for b.Loop() {
				ParseInt(bytes)
			}
		})
	}
}
