package num

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const refused = "refused"

// evaluate is the human form of a text or of the sum of two.
func evaluate(texts ...string) string {
	var sum LongDouble
	for i, text := range texts {
		x, ok := ParseLongDouble([]byte(text))
		if !ok {
			return refused
		}
		if i == 0 {
			sum = x
		} else {
			sum = sum.Add(x)
		}
	}
	return string(sum.AppendHuman(nil))
}

func TestLongDoubleAsTheCLibrary(t *testing.T) {
	for _, line := range lines(t, "testdata/longdouble.txt") {
		question, want, _ := strings.Cut(line, "\t")
		var texts []string
		for quoted := range strings.SplitSeq(question, " + ") {
			text, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			texts = append(texts, text)
		}
		got := evaluate(texts...)
		if got = got[:min(len(got), 40)]; got != want {
			t.Errorf("%s = %s, want %s", question, got, want)
		}
	}
}

func TestLongDoubleBounds(t *testing.T) {
	digits := strings.Repeat("1", longDoubleCharsMax)
	if evaluate(digits) != refused || evaluate(digits[2:]) != refused {
		t.Error("too many digits were taken")
	}
	if got := evaluate("0." + digits[3:]); got != "0.11111111111111111" {
		t.Errorf("long fraction: %s", got)
	}
	if got := evaluate("1e4932"); len(got) != 4933 {
		t.Errorf("the largest numbers have %d digits", len(got))
	}
	infinity, _ := ParseLongDouble([]byte("inf"))
	minus, _ := ParseLongDouble([]byte("-inf"))
	one, _ := ParseLongDouble([]byte("1"))
	huge, _ := ParseLongDouble([]byte("1e4932"))
	for _, c := range []struct {
		sum      LongDouble
		nan, inf bool
	}{
		{infinity.Add(minus), true, false},
		{minus.Add(infinity).Add(one), true, false},
		{one.Add(minus.Add(infinity)), true, false},
		{infinity.Add(one), false, true},
		{one.Add(minus), false, true},
		{minus.Add(minus), false, true},
		{huge.Add(huge), false, true},
		{one.Add(huge), false, false},
		{LongDouble{}, false, false},
	} {
		if c.sum.IsNaN() != c.nan || c.sum.IsInf() != c.inf {
			t.Errorf("%s: NaN %v, infinite %v", c.sum.AppendHuman(nil), c.sum.IsNaN(), c.sum.IsInf())
		}
	}
}

func TestLongDoubleCeilTimes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "1.1": 1100, "0.0001": 1, "-0.0001": 0, "-0.001": 0, "-0.002": -1, "-1.0015": -1001, "1e-400": 1, "-1e-400": 0, "1e-4940": 1, "0x1p-16445": 1,
		"0x7fffffffffffffp-3": 4503599627370495875, "9223372036854775.807": math.MaxInt64, "-1e300": math.MinInt64, "-inf": math.MinInt64,
		"0.0000000000000000001": 1, "1.0010000000000000001": 1002, "9007199254740993.5": 9007199254740993500,
	} {
		x, ok := ParseLongDouble([]byte(text))
		if !ok {
			t.Fatalf("%s is no long double", text)
		}
		if got, ok := x.CeilTimes(1000); got != want || !ok {
			t.Errorf("%s comes to %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{"9223372036854775.8075", "9223372036854775.808", "1e16", "1e4932", "inf"} {
		x, _ := ParseLongDouble([]byte(text))
		if got, ok := x.CeilTimes(1000); ok {
			t.Errorf("%s comes to %d", text, got)
		}
	}
}

// Sums of decimals that people use come out as decimal arithmetic has them.
func TestLongDoubleSumsOfCents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cents := rapid.Int64Range(-1e12, 1e12)
		a, b := cents.Draw(t, "a"), cents.Draw(t, "b")
		text := func(cents int64) string {
			sign := ""
			if cents < 0 {
				sign, cents = "-", -cents
			}
			whole := sign + strconv.FormatInt(cents/100, 10) + "." + strconv.FormatInt(cents%100+100, 10)[1:]
			return strings.TrimSuffix(strings.TrimRight(whole, "0"), ".")
		}
		want := text(a + b)
		got, other := evaluate(text(a), text(b)), evaluate(text(b), text(a))
		if got != other {
			t.Fatalf("%s, turned round %s", got, other)
		}
		// The 64 bits are good for 19 digits, which is 17 decimals only for numbers below 100.
		if max(abs(int(a)), abs(int(b))) < 1e3 && got != want && want != "-0" {
			t.Fatalf("%s + %s = %s, want %s", text(a), text(b), got, want)
		}
	})
}

func TestLongDoubleIntegersAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		text := strconv.FormatInt(n, 10)
		if got := evaluate(text); got != text {
			t.Fatalf("%s became %s", text, got)
		}
		if got := evaluate(text, "1", "-1"); got != text {
			t.Fatalf("%s + 1 - 1 = %s", text, got)
		}
	})
}

// anyLongDouble draws numbers that have few bits, or all, and exponents near each other, or far.
func anyLongDouble(t *rapid.T, name string) LongDouble {
	frac := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 9), rapid.Just(uint64(1<<63)), rapid.Just(^uint64(0)))
	exp := rapid.OneOf(rapid.IntRange(-130, 10), rapid.IntRange(-16445, 16320))
	x := LongDouble{size: extended{frac.Draw(t, name), exp.Draw(t, name+" exponent")}}
	x.negative = rapid.Bool().Draw(t, name+" negative")
	return x
}

// exact is x for math/big, with room for sums that are not rounded.
func (x LongDouble) exact() *big.Float {
	f := new(big.Float).SetPrec(40000).SetUint64(x.size.frac)
	f.SetMantExp(f, x.size.exp)
	if x.negative {
		f.Neg(f)
	}
	return f
}

func TestLongDoubleAddAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := anyLongDouble(t, "x"), anyLongDouble(t, "y")
		sum := new(big.Float).SetPrec(40000).Add(x.exact(), y.exact())
		want := new(big.Float).SetPrec(longDoubleBits).Set(sum)
		got := x.Add(y)
		if want.MantExp(nil) > longDoubleExpMax {
			if !got.IsInf() || got.negative != want.Signbit() {
				t.Fatalf("%v: %+v", want, got)
			}
			return
		}
		if got.IsInf() || got.exact().Cmp(want) != 0 {
			t.Fatalf("%+v, want %v", got, want)
		}
	})
}

func TestLongDoubleTextAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyLongDouble(t, "x")
		if got, want := string(x.AppendHuman(nil)), string(x.appendLong(nil)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		text := rapid.StringMatching(`[0-9]{0,10}\.[0-9]{1,10}(e-?[0-9]{1,2})?`).Draw(t, "text")
		got, _ := ParseLongDouble([]byte(text))
		l, ok := scanLiteral([]byte(text))
		if !ok {
			t.Fatal(text)
		}
		if l.isZero() {
			return
		}
		point := strings.IndexByte(string(l.digits), '.')
		digits := append(bytes.Clone(l.digits[:point]), l.digits[point+1:]...)
		want, ok := l.longSize(bytes.TrimLeft(digits, "0"), l.exp-(len(l.digits)-point-1))
		if !ok || got.size != want {
			t.Fatalf("%s: %v, want %v", text, got.size, want)
		}
	})
}

func FuzzLongDouble(f *testing.F) {
	f.Add("10.5", "0.1")
	f.Add("-0x1.8p-16446", "1e4932")
	f.Add("inf", "-inf")
	f.Fuzz(func(t *testing.T, a, b string) {
		if got, other := evaluate(a, b), evaluate(b, a); got != other {
			t.Fatalf("%q + %q = %s or %s", a, b, got, other)
		}
	})
}

func BenchmarkIncrByFloat(b *testing.B) {
	value, increment := []byte("10.5"), []byte("0.1")
	room := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		x, _ := ParseLongDouble(value)
		y, _ := ParseLongDouble(increment)
		x.Add(y).AppendHuman(room)
	}
}
