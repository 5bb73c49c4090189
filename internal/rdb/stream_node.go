package rdb

import (
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/rdb/packed"
)

// The listpack of a stream node, as elements:
//
//	live | deleted | fields | field... | 0      the master entry: counts, and the field names most entries share
//	flags | ms | seq | value... | n             an entry with the names of the master; its ID is relative to the master ID
//	flags | ms | seq | fields | (field | value)... | n
//	                                            an entry with names of its own; n is the number of elements before it
const (
	entryDeleted    = 1 << 0 // flag: the entry was deleted
	entrySameFields = 1 << 1 // flag: the field names are the master's
	entryOverhead   = 3      // elements of an entry that are neither name nor value: flags, ms, seq
)

// nodeWalk is the state of a walk over the nodes of a stream.
type nodeWalk struct {
	l      packed.Listpack
	master StreamID   // of the node
	last   StreamID   // the last entry of all nodes so far, deleted ones included
	begun  bool       // there was one
	node   StreamNode // what is known about the node
}

// number reads an element that must be a number.
func (w *nodeWalk) number() (int64, error) {
	e, ok := w.l.Next()
	switch {
	case !ok && w.l.Err() != nil:
		return 0, w.l.Err()
	case !ok:
		return 0, ErrStreamNode
	case e.IsInt:
		return e.Int, nil
	}
	if v, isInt := num.ParseInt(e.Str); isInt {
		return v, nil
	}
	return 0, ErrStreamNode
}

// number of things, of which each takes an element: a negative one is damage, one too great ends at the end of the node.
func (w *nodeWalk) size() (int64, error) {
	n, err := w.number()
	if err == nil && n < 0 {
		return 0, ErrStreamNode
	}
	return n, err
}

// readStreamNode checks a node, offers it, and gives its entries if it is not taken.
func (d *Decoder) readStreamNode(walk *nodeWalk, b []byte) error {
	before := *walk
	if err := d.walkNode(walk, b, nil); err != nil {
		return err
	}
	taken, err := d.value.StreamNode(&walk.node)
	if taken || err != nil {
		return err
	}
	*walk = before
	return d.walkNode(walk, b, d.value.StreamEntry)
}

// walkNode checks every entry of a node and gives the live ones to use, if it is not nil.
func (d *Decoder) walkNode(w *nodeWalk, b []byte, use func(StreamID, [][]byte) error) (err error) {
	if w.l, err = packed.OpenListpack(b); err != nil {
		return err
	}
	w.node = StreamNode{Master: w.master, Bytes: b}
	live, deleted, err := d.readMasterEntry(w)
	if err != nil {
		return err
	}
	if live < 0 || deleted < 0 || live+deleted <= 0 { // NB: a node without entries is never written
		return ErrStreamNode
	}
	names := len(d.digits) // the texts of the master's names stay, those of an entry go
	for left := live + deleted; left > 0; left-- {
		if err := d.walkEntry(w, use); err != nil {
			return err
		}
		d.digits = d.digits[:names]
	}
	if _, more := w.l.Next(); more || int64(w.node.Live) != live || int64(w.node.Deleted) != deleted {
		return ErrStreamNode
	}
	return w.l.Err()
}

// readMasterEntry reads the head of a node; the names stay in d.fields.
func (d *Decoder) readMasterEntry(w *nodeWalk) (live, deleted int64, err error) {
	if live, err = w.number(); err != nil {
		return 0, 0, err
	}
	if deleted, err = w.number(); err != nil {
		return 0, 0, err
	}
	fields, err := w.size()
	if err != nil {
		return 0, 0, err
	}
	d.digits, d.fields = d.digits[:0], d.fields[:0]
	if d.fields, err = d.readTexts(w, d.fields, fields); err != nil {
		return 0, 0, err
	}
	zero, err := w.number()
	if err == nil && zero != 0 {
		err = ErrStreamNode
	}
	return live, deleted, err
}

// readTexts reads n elements; their texts live until d.digits is emptied.
func (d *Decoder) readTexts(w *nodeWalk, dst [][]byte, n int64) ([][]byte, error) {
	for ; n > 0; n-- {
		e, ok := w.l.Next()
		switch {
		case !ok && w.l.Err() != nil:
			return dst, w.l.Err()
		case !ok:
			return dst, ErrStreamNode
		}
		dst = append(dst, d.addText(e))
	}
	return dst, nil
}

// walkEntry checks one entry of a node and gives it to use.
func (d *Decoder) walkEntry(w *nodeWalk, use func(StreamID, [][]byte) error) error {
	flags, err := w.number()
	if err != nil {
		return err
	}
	id, err := w.entryID()
	if err != nil {
		return err
	}
	elems := int64(entryOverhead + len(d.fields))
	if flags&entrySameFields == 0 {
		elems, err = d.readOwnPairs(w)
	} else {
		err = d.readSharedPairs(w)
	}
	if err != nil {
		return err
	}
	count, err := w.number()
	switch {
	case err != nil:
		return err
	case count != elems:
		return ErrStreamNode
	case flags&entryDeleted != 0:
		w.node.Deleted++
		return nil
	}
	w.addLive(id)
	if use == nil {
		return nil
	}
	return use(id, d.pairs)
}

// readOwnPairs reads the pairs of an entry that has names of its own, and returns the number of elements of the entry.
func (d *Decoder) readOwnPairs(w *nodeWalk) (elems int64, err error) {
	fields, err := w.size()
	if err != nil {
		return 0, err
	}
	if fields > int64(len(w.node.Bytes)) { // an element takes two bytes
		return 0, ErrStreamNode
	}
	d.pairs, err = d.readTexts(w, d.pairs[:0], 2*fields)
	return entryOverhead + 1 + 2*fields, err
}

// readSharedPairs reads the values of an entry that has the names of the master.
func (d *Decoder) readSharedPairs(w *nodeWalk) error {
	d.pairs = d.pairs[:0]
	for _, name := range d.fields {
		var err error
		if d.pairs, err = d.readTexts(w, append(d.pairs, name), 1); err != nil {
			return err
		}
	}
	return nil
}

// entryID reads the ID of an entry, which is greater than all before it.
func (w *nodeWalk) entryID() (StreamID, error) {
	ms, err := w.number()
	if err != nil {
		return StreamID{}, err
	}
	seq, err := w.number()
	if err != nil {
		return StreamID{}, err
	}
	id := StreamID{w.master.Ms + uint64(ms), w.master.Seq + uint64(seq)}
	if w.begun && !w.last.Less(id) {
		return id, ErrStreamOrder
	}
	w.last, w.begun = id, true
	return id, nil
}

func (w *nodeWalk) addLive(id StreamID) {
	if w.node.Live == 0 {
		w.node.First = id
	}
	w.node.Last = id
	w.node.Live++
}
