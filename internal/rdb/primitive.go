package rdb

import (
	"encoding/binary"
	"math"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/num"
)

func (d *Decoder) uint32LE() (uint32, error) {
	b, err := d.src.need(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (d *Decoder) uint64LE() (uint64, error) {
	b, err := d.src.need(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

func (d *Decoder) double() (float64, error) {
	bits, err := d.uint64LE()
	return math.Float64frombits(bits), err
}

func (d *Decoder) millis() (int64, error) {
	ms, err := d.uint64LE()
	return int64(ms), err
}

// lengthOrForm reads a length, or the special form of a string.
func (d *Decoder) lengthOrForm() (n uint64, special bool, err error) {
	head, err := d.src.oneByte()
	if err != nil {
		return 0, false, err
	}
	switch {
	case head&lenMask == len6:
		return uint64(head), false, nil
	case head&lenMask == len14:
		low, err := d.src.oneByte()
		return uint64(head&lenBitMask)<<8 | uint64(low), false, err
	case head&lenMask == encoded:
		return uint64(head & lenBitMask), true, nil
	case head == len32:
		b, err := d.src.need(4)
		if err != nil {
			return 0, false, err
		}
		return uint64(binary.BigEndian.Uint32(b)), false, nil
	case head == len64:
		b, err := d.src.need(8)
		if err != nil {
			return 0, false, err
		}
		return binary.BigEndian.Uint64(b), false, nil
	}
	return 0, false, ErrLength
}

func (d *Decoder) length() (uint64, error) {
	n, special, err := d.lengthOrForm()
	if special {
		return 0, ErrLength
	}
	return n, err
}

// count reads the number of elements of a value that may not be empty.
func (d *Decoder) count() (uint64, error) {
	n, err := d.length()
	if err == nil && n == 0 {
		return 0, ErrEmpty
	}
	return n, err
}

// strOrInt reads a string; one that is stored as a number comes as a number.
func (d *Decoder) strOrInt(scratch *[]byte) (s []byte, v int64, isInt bool, err error) {
	n, special, err := d.lengthOrForm()
	if err != nil {
		return nil, 0, false, err
	}
	if !special {
		if d.tooLong(n) {
			return nil, 0, false, ErrStringLong
		}
		s, err = d.src.take(n, scratch)
		return s, 0, false, err
	}
	if n == encLZF {
		s, err = d.compressed(scratch)
		return s, 0, false, err
	}
	v, err = d.integer(n)
	return nil, v, true, err
}

func (d *Decoder) tooLong(n uint64) bool {
	return n > math.MaxInt || d.opts.StringMax > 0 && n > d.opts.StringMax
}

// integer reads a string that is stored as a number.
func (d *Decoder) integer(form uint64) (int64, error) {
	switch form {
	case encInt8:
		b, err := d.src.oneByte()
		return int64(int8(b)), err
	case encInt16:
		b, err := d.src.need(2)
		if err != nil {
			return 0, err
		}
		return int64(int16(binary.LittleEndian.Uint16(b))), nil
	case encInt32:
		v, err := d.uint32LE()
		return int64(int32(v)), err
	}
	return 0, ErrStringForm
}

// compressed reads a compressed string into the scratch space.
func (d *Decoder) compressed(scratch *[]byte) ([]byte, error) {
	squeezed, err := d.length()
	if err != nil {
		return nil, err
	}
	n, err := d.length()
	if err != nil {
		return nil, err
	}
	if d.tooLong(n) || d.tooLong(squeezed) {
		return nil, ErrStringLong
	}
	b, err := d.src.take(squeezed, &d.squeeze)
	if err != nil {
		return nil, err
	}
	out, err := checksum.DecompressLZF((*scratch)[:0], b, int(n))
	if err != nil {
		return nil, err
	}
	*scratch = out
	return out, nil
}

// str reads a string as text. It lives until the next read.
func (d *Decoder) str(scratch *[]byte) ([]byte, error) {
	s, v, isInt, err := d.strOrInt(scratch)
	if isInt && err == nil {
		*scratch = num.AppendInt((*scratch)[:0], v)
		return *scratch, nil
	}
	return s, err
}

// keep reads a string as text into the space, where it lives until the space is used again.
func (d *Decoder) keep(space *[]byte) ([]byte, error) {
	s, err := d.str(space)
	if err != nil {
		return nil, err
	}
	if len(s) == 0 || len(*space) == 0 || &s[0] != &(*space)[0] {
		*space = append((*space)[:0], s...)
	}
	return *space, nil
}
