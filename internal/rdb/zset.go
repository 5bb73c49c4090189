package rdb

import (
	"bytes"
	"math"
	"strconv"

	"github.com/covey-db/covey/internal/rdb/packed"
)

func (d *Decoder) readZSet(t Type) error {
	n, err := d.count()
	if err != nil {
		return err
	}
	if err := d.open(); err != nil {
		return err
	}
	if err := d.value.ZSetStart(n); err != nil {
		return err
	}
	for ; n > 0; n-- {
		member, err := d.keep(&d.name)
		if err != nil {
			return err
		}
		score, err := d.score(t)
		if err != nil {
			return err
		}
		if err := d.value.ZSetElem(member, score); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) score(t Type) (float64, error) {
	read := d.double
	if t == TypeZSetText {
		read = d.textScore
	}
	f, err := read()
	if err == nil && math.IsNaN(f) {
		return 0, ErrScore
	}
	return f, err
}

// textScore reads a score of the first form of sorted sets.
func (d *Decoder) textScore() (float64, error) {
	n, err := d.src.oneByte()
	if err != nil {
		return 0, err
	}
	switch n {
	case scoreNaN:
		return 0, ErrScore
	case scorePlus:
		return math.Inf(1), nil
	case scoreMinus:
		return math.Inf(-1), nil
	}
	text, err := d.src.need(int(n))
	if err != nil {
		return 0, err
	}
	return parseScore(text)
}

// parseScore reads a score; one that is out of range becomes infinite, as it does in C.
func parseScore(text []byte) (float64, error) {
	f, err := strconv.ParseFloat(string(text), 64)
	if math.IsNaN(f) || err != nil && !math.IsInf(f, 0) {
		return 0, ErrScore
	}
	return f, nil
}

func elemScore(e packed.Elem) (float64, error) {
	if e.IsInt {
		return float64(e.Int), nil
	}
	return parseScore(e.Str)
}

// checkScores tells whether the members of a sorted set are in order, and fails if a score is no number.
func (d *Decoder) checkScores(b []byte) (ordered bool, err error) {
	l, err := packed.OpenListpack(b)
	if err != nil {
		return false, err
	}
	ordered = true
	last := math.Inf(-1)
	d.name = d.name[:0]
	for e, ok := l.Next(); ok; e, ok = l.Next() {
		s, _ := l.Next()
		score, err := elemScore(s)
		if err != nil {
			return false, err
		}
		member := d.elemText(e)
		if score < last || score == last && bytes.Compare(member, d.name) < 0 {
			ordered = false
		}
		last = score
		d.name = append(d.name[:0], member...)
	}
	return ordered, l.Err()
}
