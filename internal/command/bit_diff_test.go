package command

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bits draws the commands of bitmaps.
func (d *draw) bits() []string {
	offset := func() string {
		return rapid.OneOf(rapid.Map(rapid.IntRange(0, 200), strconv.Itoa), rapid.SampledFrom([]string{"-1", "x", "", "4294967296",
			"9223372036854775807", "100000", "1.0", "#1"})).Draw(d.T, "offset")
	}
	index := func() string {
		return rapid.OneOf(rapid.Map(rapid.IntRange(-90, 90), strconv.Itoa), rapid.SampledFrom([]string{"-9223372036854775808",
			"9223372036854775807", "x"})).Draw(d.T, "index")
	}
	unit := func() []string {
		return rapid.SampledFrom([][]string{nil, nil, {"BIT"}, {"byte"}, {"bits"}}).Draw(d.T, "unit")
	}
	switch name := rapid.SampledFrom(strings.Fields("SET SETBIT SETBIT SETBIT GETBIT BITCOUNT BITCOUNT BITPOS BITPOS BITOP BITOP BITFIELD BITFIELD BITFIELD_RO GET EXPIRE APPEND OBJECT DUMP")).Draw(d.T, "name"); name {
	case "SET", "APPEND":
		return []string{name, d.key(), rapid.OneOf(rapid.Just("12345"), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.IntRange(0, 90), func(n int) string { return strings.Repeat("\xff", n) }),
			rapid.Map(rapid.IntRange(0, 90), func(n int) string { return strings.Repeat("\x00", n) + "\x10" })).Draw(d.T, "value")}
	case "SETBIT":
		return []string{name, d.key(), offset(), rapid.SampledFrom([]string{"0", "1", "1", "2", "-1", "x"}).Draw(d.T, "bit")}
	case "GETBIT":
		return []string{name, d.key(), offset()}
	case "BITCOUNT":
		return append([]string{name, d.key()}, append([][]string{{index(), index()}, nil, {index()}}[rapid.IntRange(0, 2).Draw(d.T, "form")], unit()...)...)
	case "BITPOS":
		return append([]string{name, d.key(), rapid.SampledFrom([]string{"0", "1", "2", "x"}).Draw(d.T, "bit")},
			[][]string{nil, {index()}, append([]string{index(), index()}, unit()...), append([]string{index(), index()}, unit()...), {index(), index(), "bit", "bit"}}[rapid.IntRange(0, 4).Draw(d.T, "form")]...)
	case "BITOP":
		args := []string{name, rapid.SampledFrom([]string{"AND", "or", "XOR", "NOT", "NAND"}).Draw(d.T, "op"), d.key()}
		for range rapid.IntRange(1, 4).Draw(d.T, "keys") {
			args = append(args, d.key())
		}
		return args
	case "BITFIELD", "BITFIELD_RO":
		return append([]string{name, d.key()}, d.fields(offset)...)
	case "EXPIRE":
		return []string{name, d.key(), "10000"}
	case "OBJECT":
		return []string{name, "ENCODING", d.key()}
	default:
		return []string{name, d.key()}
	}
}

func (d *draw) fields(offset func() string) (args []string) {
	number := func() string {
		return rapid.OneOf(rapid.Map(rapid.IntRange(-300, 300), strconv.Itoa), rapid.Map(rapid.Int64(), func(n int64) string { return strconv.FormatInt(n, 10) }),
			rapid.SampledFrom([]string{"9223372036854775807", "-9223372036854775808", "x"})).Draw(d.T, "number")
	}
	for range rapid.IntRange(0, 4).Draw(d.T, "operations") {
		kind := rapid.OneOf(rapid.Map(rapid.IntRange(1, 63), func(n int) string { return "u" + strconv.Itoa(n) }),
			rapid.Map(rapid.IntRange(1, 64), func(n int) string { return "i" + strconv.Itoa(n) }),
			rapid.SampledFrom([]string{"u64", "i65", "u0", "i", "", "x8", "u8\x00y"})).Draw(d.T, "type")
		at := offset()
		if rapid.Bool().Draw(d.T, "counted") {
			at = "#" + at
		}
		switch op := rapid.SampledFrom(strings.Fields("GET SET set INCRBY INCRBY OVERFLOW NOSUCH")).Draw(d.T, "op"); op {
		case "GET", "NOSUCH":
			args = append(args, op, kind, at)
		case "OVERFLOW":
			args = append(args, op, rapid.SampledFrom([]string{"wrap", "SAT", "FAIL", "no"}).Draw(d.T, "overflow"))
		default:
			args = append(args, op, kind, at, number())
		}
	}
	return args
}

// Random commands on bits are answered as redis-server answers them, and leave the same strings.
func TestBitsAreThoseOfRedis(t *testing.T) {
	w := newTwins(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.reset(rt)
		d := &draw{T: rt}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			w.compare(rt, d.bits()...)
		}
		for _, k := range []string{"a", "b", "{a}1", "c"} {
			w.compare(rt, "GET", k)
			w.compare(rt, "OBJECT", "ENCODING", k)
			w.compare(rt, "TTL", k)
		}
	})
}

// sketches draws the commands of HyperLogLogs.
func (d *draw) sketches() []string {
	elements := func() (list []string) {
		from := rapid.IntRange(0, 20000).Draw(d.T, "from")
		for i := range rapid.SampledFrom([]int{0, 1, 2, 3, 10, 100, 1500}).Draw(d.T, "elements") {
			list = append(list, "element:"+strconv.Itoa(from+i))
		}
		return list
	}
	switch name := rapid.SampledFrom(strings.Fields("PFADD PFADD PFADD PFADD PFCOUNT PFCOUNT PFMERGE PFDEBUG SETRANGE LIMIT SET GET OBJECT EXPIRE TRIM")).Draw(d.T, "name"); name {
	case "PFADD":
		return append([]string{name, d.key()}, elements()...)
	case "PFCOUNT", "PFMERGE":
		args := []string{name, d.key()}
		for range rapid.IntRange(0, 3).Draw(d.T, "keys") {
			args = append(args, d.key())
		}
		return args
	case "PFDEBUG":
		return []string{name, rapid.SampledFrom([]string{"GETREG", "DECODE", "DECODE", "encoding", "ENCODING", "TODENSE", "NO"}).Draw(d.T, "what"), d.key()}
	case "SETRANGE": // damage
		return []string{name, d.key(), strconv.Itoa(rapid.IntRange(0, 40).Draw(d.T, "at")), string([]byte{rapid.Byte().Draw(d.T, "byte")})}
	case "LIMIT":
		return []string{"CONFIG", "SET", "hll-sparse-max-bytes", rapid.SampledFrom([]string{"0", "20", "100", "1000", "3000", "16000"}).Draw(d.T, "limit")}
	case "SET":
		return []string{name, d.key(), rapid.SampledFrom([]string{"", "1", "HYLL", "HYLL\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
			"HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xff\x84",
			"HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xff", "HYLL\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f\xff"}).Draw(d.T, "value")}
	case "EXPIRE":
		return []string{name, d.key(), "10000"}
	case "OBJECT":
		return []string{name, "ENCODING", d.key()}
	default:
		return []string{"GET", d.key()}
	}
}

// HyperLogLogs are the same strings as those of redis-server, whatever happens to them.
func TestSketchesAreThoseOfRedis(t *testing.T) {
	w := newTwins(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.reset(rt)
		d := &draw{T: rt}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			args := d.sketches()
			if args[0] == "CONFIG" {
				limit, _ := strconv.ParseInt(args[3], 10, 64)
				w.h.e.Settings.Encoding.HLLSparse.Store(limit)
				if _, err := w.redis.Try(args...); err != nil {
					rt.Fatal(err)
				}
				continue
			}
			v := w.compare(rt, args...)
			if strings.Contains(v.Text, "INVALIDOBJ") { // redis-server may have added some of the elements, we none
				w.compare(rt, "DEL", args[1])
			}
		}
		for _, k := range []string{"a", "b", "{a}1", "c"} {
			w.compare(rt, "GET", k)
			w.compare(rt, "OBJECT", "ENCODING", k)
			w.compare(rt, "TTL", k)
		}
	})
}
