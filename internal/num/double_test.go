package num

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// lines reads a table of facts; lines that start with # are remarks.
func lines(t testing.TB, name string) (all []string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

func TestAppendFloatAsRedis(t *testing.T) {
	for _, line := range lines(t, "testdata/double.txt") {
		pattern, want, _ := strings.Cut(line, " ")
		b, err := strconv.ParseUint(pattern, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		f := math.Float64frombits(b)
		if got := string(AppendFloat(nil, f)); got != want {
			t.Errorf("%v (%s): %s, want %s", f, pattern, got, want)
		}
	}
}

func TestAppendFloat(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{
		{0, "0"},
		{math.Copysign(0, -1), "-0"},
		{math.Inf(1), "inf"},
		{math.Inf(-1), "-inf"},
		{math.NaN(), "nan"},
		{1, "1"},
		{-42, "-42"},
		{1.1, "1.1"},
		{1 + 0.1, "1.1"},
		{0.1 + math.SmallestNonzeroFloat64, "0.1"},
		{9007199254740993, "9007199254740992"},
		{1e18, "1000000000000000000"},
		{4611686018427387904, "4611686018427387904"}, // 2^62, the last that goes through int64
		{4611686018427389952, "4611686018427390000"}, // not the exact number any more
		{1e19, "1e+19"},
		{1e20, "1e+20"},
		{1.5e300, "1.5e+300"},
		{math.MaxFloat64, "1.7976931348623157e+308"},
		{12345678901234567000, "12345678901234567000"},
		{0.001, "0.001"},
		{0.0001, "0.0001"},
		{0.000001, "0.000001"},
		{0.0000001, "1e-7"},
		{1e-50, "1e-50"},
		{-1.5e-7, "-1.5e-7"},
		{12345.67891234, "1.234567891234e+4"}, // an oddity of the printer of Redis
		{1234.567891234, "1234.567891234"},
		{1700000000.123456, "1700000000.123456"},
		{3.141592653589793, "3.141592653589793"},
	} {
		if got := string(AppendFloat([]byte("x"), c.f)); got != "x"+c.want {
			t.Errorf("%v: %s, want %s", c.f, got, c.want)
		}
	}
}

// anyFloat draws doubles of all sizes, and those that people use.
func anyFloat() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Map(rapid.Uint64(), math.Float64frombits),
		rapid.Float64(),
		rapid.Map(rapid.IntRange(-1e9, 1e9), func(n int) float64 { return float64(n) / 1000 }),
		rapid.Map(rapid.IntRange(-1080, 1030), func(n int) float64 { return math.Ldexp(1, n) }),
	)
}

func TestFloatRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFloat().Draw(t, "f")
		if math.IsNaN(f) {
			return
		}
		for _, text := range [][]byte{AppendFloat(nil, f), AppendFixed17(nil, f)} {
			got, ok := ParseFloat(text)
			if !ok || math.Float64bits(got) != math.Float64bits(f) {
				t.Fatalf("%v became %s, which reads %v, %v", f, text, got, ok)
			}
			if len(text) > 25 {
				t.Fatalf("%s is too long", text)
			}
		}
	})
}

func TestAppendFixed17(t *testing.T) {
	for f, want := range map[float64]string{1: "1", 0.1: "0.10000000000000001", 1.1: "1.1000000000000001", 1e20: "1e+20",
		1e16: "10000000000000000", 1e17: "1e+17", 12345678901234567: "12345678901234568", 123456.5: "123456.5", 1e-4: "0.0001",
		1e-5: "1.0000000000000001e-05", 5e-324: "4.9406564584124654e-324", 100000: "100000", -2.5: "-2.5", 0: "0",
		math.Inf(1): "inf", math.Inf(-1): "-inf", 1e308: "1e+308"} {
		if got := string(AppendFixed17(nil, f)); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
	if got := string(AppendFixed17(nil, math.NaN())); got != "nan" {
		t.Errorf("NaN: %s", got)
	}
}

func TestParseFloat(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "1": 1, "-1": -1, "+1": 1, "1.5": 1.5, ".5": 0.5, "5.": 5, "-.5e1": -5, "1e3": 1000, "1E+3": 1000, "1e-3": 0.001,
		"007": 7, "inf": math.Inf(1), "+inf": math.Inf(1), "-inf": math.Inf(-1), "INFINITY": math.Inf(1), "-Infinity": math.Inf(-1),
		"0x10": 16, "0X1P4": 16, "0x.8": 0.5, "0x1.8p1": 3, "-0x1p-2": -0.25, "9007199254740993": 9007199254740992,
		"9223372036854775807": 9223372036854775808, "1e308": 1e308, "5e-324": 5e-324, "3e-324": 5e-324, "0e-999": 0, "0e999": 0,
		"0.00e-400": 0, "123456789012345678901234567890": 123456789012345678901234567890,
	} {
		if got, ok := ParseFloat([]byte(text)); !ok || got != want {
			t.Errorf("ParseFloat(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	if got, ok := ParseFloat([]byte("-0")); !ok || !math.Signbit(got) {
		t.Errorf("-0: %v, %v", got, ok)
	}
	for _, text := range []string{"", " 1", "\t1", "1 ", "1\n", "1\x00", "nan", "NaN", "-nan", "nan(1)", "infin", "in", "i", "e5",
		".", "-", "+", "-.", "--1", "+-1", "1e", "1e+", "1e+-5", "1.5.5", "1_0", "1,5", "0x", "0x.", "0xp1", "0x1p", "0x1g", "0x_1",
		"0b1", "0o7", "1f", "1e400", "-1e400", "1e-400", "0x1p1024", "0x1p-1080", "1p5"} {
		if got, ok := ParseFloat([]byte(text)); ok {
			t.Errorf("ParseFloat(%q) = %v", text, got)
		}
	}
}

func FuzzParseFloat(f *testing.F) {
	for _, seed := range []string{"1.5e-3", "-0x1.8p4", "inf", "1e400", "0.0000000000000000000000000000000000001"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := ParseFloat(b)
		if x, okLong := ParseLongDouble(b); okLong && len(b) < 30 && !x.IsInf() {
			x.AppendHuman(nil)
		} else if ok && !math.IsInf(got, 0) && len(b) < longDoubleCharsMax && !okLong {
			t.Fatalf("%q is a double but no long double", b)
		}
		if !ok {
			return
		}
		if math.IsNaN(got) {
			t.Fatalf("%q reads as NaN", b)
		}
		if again, ok := ParseFloat(AppendFloat(nil, got)); !ok || again != got {
			t.Fatalf("%q: %v, then %v", b, got, again)
		}
	})
}

func BenchmarkAppendFloat(b *testing.B) {
	for name, f := range map[string]float64{"integer": 1234567, "short": 1.1, "long": 0.30000000000000004, "exponent": 1.2345e-300} {
		b.Run(name, func(b *testing.B) {
			room := make([]byte, 0, 64)
			b.ReportAllocs()
			for b.Loop() {
				AppendFloat(room, f)
			}
		})
	}
}

func BenchmarkParseFloat(b *testing.B) {
	for _, text := range []string{"1234567", "1.1", "0.30000000000000004"} {
		b.Run(text, func(b *testing.B) {
			bytes := []byte(text)
			b.ReportAllocs()
			for b.Loop() {
				ParseFloat(bytes)
			}
		})
	}
}
