package num

import "math"

// memoryDigitsMax is the number of digits from which Redis refuses an amount of memory.
const memoryDigitsMax = 128

// ParseMemory reads an amount of memory such as "100", "64kb" or "1G" as the configuration has it: k, m and g are powers
// of 1000, kb, mb and gb powers of 1024. Redis takes a unit without digits for 0, and so does this. An amount that does
// not fit an int64 is refused.
func ParseMemory(b []byte) (int64, bool) {
	n, ok := ParseUnsignedMemory(b)
	if !ok || n > math.MaxInt64 {
		return 0, false
	}
	return int64(n), true
}

// ParseUnsignedMemory reads an amount of memory like ParseMemory. What is more than a uint64 holds is the most that it holds.
func ParseUnsignedMemory(b []byte) (uint64, bool) {
	digits := 0
	for digits < len(b) && b[digits]-'0' < 10 {
		digits++
	}
	unit, ok := memoryUnit(b[digits:])
	if !ok || digits >= memoryDigitsMax {
		return 0, false
	}
	var n uint64
	for _, c := range b[:digits] {
		d := uint64(c - '0')
		if n > (math.MaxUint64-d)/10 {
			return math.MaxUint64, true
		}
		n = n*10 + d
	}
	if n > math.MaxUint64/uint64(unit) {
		return math.MaxUint64, true
	}
	return n * uint64(unit), true
}

func memoryUnit(name []byte) (bytesEach int64, ok bool) {
	if len(name) == 0 || len(name) == 1 && name[0]|0x20 == 'b' {
		return 1, true
	}
	binary := len(name) == 2 && name[1]|0x20 == 'b'
	if len(name) != 1 && !binary {
		return 0, false
	}
	thousand := int64(1000)
	if binary {
		thousand = 1024
	}
	switch name[0] | 0x20 {
	case 'k':
		return thousand, true
	case 'm':
		return thousand * thousand, true
	case 'g':
		return thousand * thousand * thousand, true
	}
	return 0, false
}
