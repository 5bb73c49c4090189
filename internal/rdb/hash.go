package rdb

import (
	"github.com/covey-db/covey/internal/rdb/packed"
)

func (d *Decoder) readHash() error {
	n, err := d.count()
	if err != nil {
		return err
	}
	if err := d.startHash(n); err != nil {
		return err
	}
	for ; n > 0; n-- {
		if err := d.readField(0); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) startHash(n uint64) error {
	if err := d.open(); err != nil {
		return err
	}
	return d.value.HashStart(n)
}

func (d *Decoder) readField(expireAt int64) error {
	field, err := d.keep(&d.name)
	if err != nil {
		return err
	}
	value, err := d.str(&d.text)
	if err != nil {
		return err
	}
	return d.value.HashField(field, value, expireAt)
}

// fieldExpiryMax is the greatest expiry of a field: Redis keeps 48 bits.
const fieldExpiryMax = 1<<48 - 1

// readHashTTL reads a hash with an expiry before every field. It is relative to the smallest one, which comes first, and
// increased by one, since 0 means none; release candidates wrote it as it is.
func (d *Decoder) readHashTTL(t Type) error {
	first := uint64(1)
	if t == TypeHashTTL {
		at, err := d.uint64LE()
		if err != nil {
			return err
		}
		if at > fieldExpiryMax+1 {
			return ErrFieldExpiry
		}
		first = at
	}
	n, err := d.count()
	if err != nil {
		return err
	}
	if err := d.startHash(n); err != nil {
		return err
	}
	for ; n > 0; n-- {
		at, err := d.length()
		if err != nil {
			return err
		}
		if at > fieldExpiryMax {
			return ErrFieldExpiry
		}
		if at != 0 {
			at += first - 1
		}
		if at > fieldExpiryMax {
			return ErrFieldExpiry
		}
		if err := d.readField(int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// readHashTTLPack reads a listpack of fields, values and expiries.
func (d *Decoder) readHashTTLPack(t Type) error {
	if t == TypeHashTTLPack {
		if _, err := d.uint64LE(); err != nil { // the smallest expiry, which the fields tell as well
			return err
		}
	}
	b, err := d.str(&d.text)
	if err != nil {
		return err
	}
	const step = 3
	found, err := d.scan(b, step)
	if err != nil {
		return err
	}
	if err := d.checkMembers(found, step); err != nil {
		return err
	}
	if err := d.startHash(uint64(found.count / step)); err != nil {
		return err
	}
	l, err := packed.OpenListpack(b)
	for err == nil {
		field, ok := l.Next()
		if !ok {
			return l.Err()
		}
		value, _ := l.Next()
		expiry, _ := l.Next()
		if !expiry.IsInt || expiry.Int < 0 || expiry.Int > fieldExpiryMax {
			return ErrFieldExpiry
		}
		d.name = append(d.name[:0], d.elemText(field)...)
		err = d.value.HashField(d.name, d.elemText(value), expiry.Int)
	}
	return err
}
