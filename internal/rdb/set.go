package rdb

import (
	"github.com/covey-db/covey/internal/rdb/packed"
)

func (d *Decoder) readSet() error {
	n, err := d.count()
	if err != nil {
		return err
	}
	if err := d.open(); err != nil {
		return err
	}
	if err := d.value.SetStart(n); err != nil {
		return err
	}
	return d.eachString(n, d.value.SetElem)
}

func (d *Decoder) readIntset() error {
	b, err := d.str(&d.text)
	if err != nil {
		return err
	}
	set, err := packed.OpenIntset(b)
	switch {
	case err != nil:
		return err
	case set.Len() == 0:
		return ErrEmpty
	}
	if err := d.openWhole(); err != nil {
		return err
	}
	longest := max(decimalLen(set.At(0)), decimalLen(set.At(set.Len()-1)))
	taken, err := d.value.Packed(Packed{KindSet, Intset, b, set.Len(), longest})
	if taken || err != nil {
		return err
	}
	if err := d.value.SetStart(uint64(set.Len())); err != nil {
		return err
	}
	for i := range set.Len() {
		if err := d.value.SetElem(d.elemText(packed.Elem{Int: set.At(i), IsInt: true})); err != nil {
			return err
		}
	}
	return nil
}

// decimalLen is the length of a number as text.
func decimalLen(v int64) int {
	n := 1
	if v < 0 {
		n = 2
	}
	for v /= 10; v != 0; v /= 10 {
		n++
	}
	return n
}
