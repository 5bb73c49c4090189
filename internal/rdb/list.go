package rdb

import (
	"github.com/covey-db/covey/internal/rdb/packed"
)

func (d *Decoder) readList() error {
	n, err := d.count()
	if err != nil {
		return err
	}
	if err := d.startList(n); err != nil {
		return err
	}
	return d.eachString(n, d.value.ListElem)
}

func (d *Decoder) startList(n uint64) error {
	if err := d.open(); err != nil {
		return err
	}
	return d.value.ListStart(n)
}

// readQuicklist reads a list of nodes, each a compact value or, in the newest form, a plain element.
func (d *Decoder) readQuicklist(t Type) error {
	nodes, err := uint64(1), error(nil)
	if t != TypeListZiplist {
		if nodes, err = d.count(); err != nil {
			return err
		}
	}
	started := false
	for ; nodes > 0; nodes-- {
		form := uint64(nodePacked)
		if t == TypeListListpacks {
			if form, err = d.length(); err != nil {
				return err
			}
		}
		node, err := d.str(&d.text)
		switch {
		case err != nil:
			return err
		case form != nodePacked && form != nodePlain:
			return ErrNode
		case len(node) == 0:
			return ErrNode
		}
		if err := d.readNode(t, form, node, &started); err != nil {
			return err
		}
	}
	if !started {
		return ErrEmpty
	}
	return nil
}

// readNode gives the elements of a node to the builder. Nodes without any are passed over, as Redis does.
func (d *Decoder) readNode(t Type, form uint64, node []byte, started *bool) error {
	var found shape
	var err error
	if form == nodePacked {
		if node, found, err = d.examine(t, node, 0); err != nil || found.count == 0 {
			return err
		}
	}
	if !*started {
		*started = true
		if err := d.startList(0); err != nil {
			return err
		}
	}
	if form == nodePlain {
		return d.value.ListElem(node)
	}
	taken, err := d.value.Packed(Packed{KindList, Listpack, node, found.count, found.longest})
	if taken || err != nil {
		return err
	}
	return eachElem(node, func(e packed.Elem) error { return d.value.ListElem(d.elemText(e)) })
}
