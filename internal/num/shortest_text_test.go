package num

import (
	"math"
	"testing"
)

func TestAppendShortest(t *testing.T) {
	for want, f := range map[string]float64{
		"0": 0, "-0": math.Copysign(0, -1), "inf": math.Inf(1), "-inf": math.Inf(-1), "1": 1, "1000": 1000, "0.1": 0.1,
		"1e+17": 1e17, "1099511627776": 1 << 40, "-2.25": -2.25,
	} {
		if got := string(AppendShortest(nil, f)); got != want {
			t.Errorf("%v is %s, want %s", f, got, want)
		}
	}
}
