package rdb

import "encoding/binary"

// readStream reads nodes, metadata and groups.
func (d *Decoder) readStream(t Type) error {
	if err := d.open(); err != nil {
		return err
	}
	if err := d.value.StreamStart(); err != nil {
		return err
	}
	nodes, err := d.length()
	if err != nil {
		return err
	}
	meta, last, err := d.readNodes(nodes)
	if err != nil {
		return err
	}
	if err := d.readStreamMeta(t, &meta, last, nodes > 0); err != nil {
		return err
	}
	if err := d.value.StreamMeta(meta); err != nil {
		return err
	}
	groups, err := d.length()
	for ; err == nil && groups > 0; groups-- {
		err = d.readGroup(t, &meta)
	}
	return err
}

// readNodes reads the entries. It returns the metadata they show, and the greatest ID.
func (d *Decoder) readNodes(nodes uint64) (meta StreamMeta, last StreamID, err error) {
	var walk nodeWalk
	for ; nodes > 0; nodes-- {
		if walk.master, err = d.readMasterID(); err != nil {
			return meta, last, err
		}
		b, err := d.str(&d.text)
		if err != nil {
			return meta, last, err
		}
		if err := d.readStreamNode(&walk, b); err != nil {
			return meta, last, err
		}
		if walk.node.Live > 0 && meta.Length == 0 {
			meta.FirstID = walk.node.First
		}
		meta.Length += uint64(walk.node.Live)
	}
	return meta, walk.last, nil
}

// readMasterID reads the ID of a node, a string of 16 bytes.
func (d *Decoder) readMasterID() (StreamID, error) {
	b, err := d.str(&d.text)
	if err != nil {
		return StreamID{}, err
	}
	if len(b) != streamIDBytes {
		return StreamID{}, ErrStreamID
	}
	return rawID(b), nil
}

func rawID(b []byte) StreamID {
	return StreamID{Ms: binary.BigEndian.Uint64(b), Seq: binary.BigEndian.Uint64(b[8:])}
}

// readStreamMeta reads what follows the nodes and compares it with them.
func (d *Decoder) readStreamMeta(t Type, meta *StreamMeta, last StreamID, nodes bool) error {
	var numbers [8]uint64 // length, last ID, first ID, greatest deleted ID, entries added
	known := numbers[:]
	if t == TypeStream1 {
		known = numbers[:3]
	}
	for i := range known {
		n, err := d.length()
		if err != nil {
			return err
		}
		known[i] = n
	}
	if numbers[0] > 0 && !nodes {
		return ErrStreamLength
	}
	meta.LastID = StreamID{numbers[1], numbers[2]}
	if meta.LastID.Less(last) {
		return ErrStreamLastID
	}
	meta.MaxDeleted = StreamID{numbers[5], numbers[6]}
	meta.EntriesAdded = numbers[7]
	if t == TypeStream1 {
		meta.EntriesAdded = meta.Length
	}
	return nil
}
