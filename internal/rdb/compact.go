package rdb

import (
	"bytes"
	"slices"

	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/rdb/packed"
)

// shape is what a walk over a listpack tells.
type shape struct {
	count   int  // elements
	longest int  // length of the longest as text
	odd     bool // some text should have been a number
}

// scan checks every element of a listpack. Every step-th of them is kept in d.names, but of offerMax elements at most; of
// step 0 none.
func (d *Decoder) scan(b []byte, step int) (shape, error) {
	l, err := packed.OpenListpack(b)
	if err != nil {
		return shape{}, err
	}
	var found shape
	d.names, d.digits = d.names[:0], d.digits[:0]
	for e, ok := l.Next(); ok; e, ok = l.Next() {
		if step > 0 && found.count%step == 0 && found.count < offerMax {
			d.names = append(d.names, d.addText(e))
		}
		found.count++
		if e.IsInt {
			found.longest = max(found.longest, decimalLen(e.Int))
			continue
		}
		found.longest = max(found.longest, len(e.Str))
		if _, isInt := num.ParseInt(e.Str); isInt {
			found.odd = true
		}
	}
	return found, l.Err()
}

// examine checks a compact value of any age and returns it as a listpack with every element in its usual form. Every step-th
// element is kept as scan does.
func (d *Decoder) examine(t Type, b []byte, step int) ([]byte, shape, error) {
	var err error
	switch t {
	case TypeListZiplist, TypeListZiplists, TypeZSetZiplist, TypeHashZiplist:
		d.repack, _, err = packed.ListpackOfZiplist(d.repack[:0], b)
		b = d.repack
	case TypeHashZipmap:
		d.repack, _, err = packed.ListpackOfZipmap(d.repack[:0], b)
		b = d.repack
	}
	if err != nil {
		return nil, shape{}, err
	}
	found, err := d.scan(b, step)
	if err == nil && found.odd { // NB: never after one of the conversions above, which would be overwritten
		d.repack, err = packed.CanonicalListpack(d.repack[:0], b)
		b = d.repack
	}
	return b, found, err
}

// offerMax is the number of elements up to which a compact set, zset or hash is checked for repetitions and offered as it
// is. It bounds the memory of the check (24 bytes an element); bigger ones, far above any configured limit, are given
// element by element, and the ValueBuilder finds the repetition.
const offerMax = 1 << 16

// readPacked reads a compact set, zset or hash.
func (d *Decoder) readPacked(t Type) error {
	b, err := d.str(&d.text)
	if err != nil {
		return err
	}
	kind, _ := kindOf(t)
	step := 2
	if kind == KindSet {
		step = 1
	}
	b, found, err := d.examine(t, b, step)
	if err != nil {
		return err
	}
	if err := d.checkMembers(found, step); err != nil {
		return err
	}
	ordered := true
	if kind == KindZSet {
		if ordered, err = d.checkScores(b); err != nil {
			return err
		}
	}
	if err := d.openWhole(); err != nil {
		return err
	}
	if found.count <= offerMax && ordered {
		taken, err := d.value.Packed(Packed{kind, Listpack, b, found.count / step, found.longest})
		if taken || err != nil {
			return err
		}
	}
	return d.giveMembers(kind, b, uint64(found.count/step))
}

// checkMembers looks at what scan found: whether there are elements, whole groups of step, and a member or field that is
// there twice. Sorting needs no hash, so nobody can make it slow.
func (d *Decoder) checkMembers(found shape, step int) error {
	switch {
	case found.count == 0:
		return ErrEmpty
	case found.count%step != 0:
		return ErrOddPairs
	case found.count > offerMax:
		return nil
	}
	slices.SortFunc(d.names, bytes.Compare)
	for i := 1; i < len(d.names); i++ {
		if bytes.Equal(d.names[i-1], d.names[i]) {
			return ErrDuplicate
		}
	}
	return nil
}

// giveMembers gives a compact set, zset or hash element by element.
func (d *Decoder) giveMembers(kind Kind, b []byte, n uint64) error {
	if err := d.startMembers(kind, n); err != nil {
		return err
	}
	l, err := packed.OpenListpack(b)
	for err == nil {
		e, ok := l.Next()
		if !ok {
			return l.Err()
		}
		if kind == KindSet {
			err = d.value.SetElem(d.elemText(e))
			continue
		}
		d.name = append(d.name[:0], d.elemText(e)...)
		second, _ := l.Next()
		if kind == KindHash {
			err = d.value.HashField(d.name, d.elemText(second), 0)
			continue
		}
		var score float64
		if score, err = elemScore(second); err == nil {
			err = d.value.ZSetElem(d.name, score)
		}
	}
	return err
}

func (d *Decoder) startMembers(kind Kind, n uint64) error {
	switch kind {
	case KindSet:
		return d.value.SetStart(n)
	case KindZSet:
		return d.value.ZSetStart(n)
	}
	return d.value.HashStart(n)
}

func eachElem(listpack []byte, use func(packed.Elem) error) error {
	l, err := packed.OpenListpack(listpack)
	if err != nil {
		return err
	}
	for e, ok := l.Next(); ok; e, ok = l.Next() {
		if err := use(e); err != nil {
			return err
		}
	}
	return l.Err()
}

// elemText is the text of one element, which lives until the next call.
func (d *Decoder) elemText(e packed.Elem) []byte {
	if !e.IsInt {
		return e.Str
	}
	d.digits = e.Text(d.digits)
	return d.digits
}

// addText is the text of an element, which lives until d.digits is emptied.
func (d *Decoder) addText(e packed.Elem) []byte {
	if !e.IsInt {
		return e.Str
	}
	start := len(d.digits)
	d.digits = num.AppendInt(d.digits, e.Int)
	return d.digits[start:len(d.digits):len(d.digits)]
}
