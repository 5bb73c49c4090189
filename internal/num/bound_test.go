package num

import (
	"math"
	"testing"
)

func TestParseBound(t *testing.T) {
	for text, want := range map[string]float64{
		"": 0, "1.5": 1.5, " 1.5": 1.5, "\t\n-3": -3, "1e400": math.Inf(1), "-1e400": math.Inf(-1), "1e-400": 0, "inf": math.Inf(1),
		"-Infinity": math.Inf(-1), "0x10": 16, "0x1p2000": math.Inf(1), "5\x00junk": 5, "\x00": 0,
	} {
		if got, ok := ParseBound([]byte(text)); !ok || got != want {
			t.Errorf("%q is %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{" ", "1 ", "nan", "(1", "1_0", "0x1_0p2000", "--1", "1e", "x"} {
		if got, ok := ParseBound([]byte(text)); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}
