package num

import "math"

// AppendShortest appends a double in few digits that read back as the same double, whole numbers too: the form of Redis 7.2
// where AppendFloat would write an integer with all its digits.
func AppendShortest(dst []byte, f float64) []byte {
	if f == 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return AppendFloat(dst, f)
	}
	return appendDigits(dst, f)
}
