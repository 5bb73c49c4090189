package rdb

import "math"

// readGroup reads a consumer group.
func (d *Decoder) readGroup(t Type, meta *StreamMeta) error {
	name, err := d.keep(&d.name)
	if err != nil {
		return err
	}
	g := StreamGroup{Name: name}
	if g.LastID, err = d.readLengthID(); err != nil {
		return err
	}
	if t == TypeStream1 {
		g.EntriesRead = entriesBefore(meta, g.LastID)
	} else {
		read, err := d.length()
		if err != nil {
			return err
		}
		g.EntriesRead = int64(min(read, math.MaxInt64))
		if read == math.MaxUint64 {
			g.EntriesRead = -1
		}
	}
	if err := d.value.StreamGroup(g); err != nil {
		return err
	}
	if err := d.readPending(); err != nil {
		return err
	}
	consumers, err := d.length()
	for ; err == nil && consumers > 0; consumers-- {
		err = d.readConsumer(t)
	}
	return err
}

func (d *Decoder) readLengthID() (id StreamID, err error) {
	if id.Ms, err = d.length(); err != nil {
		return id, err
	}
	id.Seq, err = d.length()
	return id, err
}

// entriesBefore estimates how many entries a group has read whose last ID is given, in a stream of the first form: it is
// only known at the ends of a stream from which nothing was deleted.
func entriesBefore(meta *StreamMeta, id StreamID) int64 {
	switch {
	case meta.EntriesAdded == 0:
		return 0
	case id == meta.LastID:
		return int64(meta.EntriesAdded)
	case meta.LastID.Less(id):
		return -1
	case id.Less(meta.FirstID):
		return 0
	case id == meta.FirstID:
		return 1
	}
	return -1
}

func (d *Decoder) readPending() error {
	n, err := d.length()
	if err != nil {
		return err
	}
	for ; n > 0; n-- {
		var p StreamPending
		if p.ID, err = d.readRawID(); err != nil {
			return err
		}
		if p.DeliveredAt, err = d.millis(); err != nil {
			return err
		}
		if p.Deliveries, err = d.length(); err != nil {
			return err
		}
		if err := d.value.StreamPending(p); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) readRawID() (StreamID, error) {
	b, err := d.src.need(streamIDBytes)
	if err != nil {
		return StreamID{}, err
	}
	return rawID(b), nil
}

func (d *Decoder) readConsumer(t Type) error {
	name, err := d.keep(&d.name)
	if err != nil {
		return err
	}
	c := StreamConsumer{Name: name}
	if c.SeenAt, err = d.millis(); err != nil {
		return err
	}
	c.ActiveAt = c.SeenAt
	if t == TypeStream3 {
		if c.ActiveAt, err = d.millis(); err != nil {
			return err
		}
	}
	if err := d.value.StreamConsumer(c); err != nil {
		return err
	}
	owned, err := d.length()
	if err != nil {
		return err
	}
	for ; owned > 0; owned-- {
		id, err := d.readRawID()
		if err != nil {
			return err
		}
		if err := d.value.StreamOwned(id); err != nil {
			return err
		}
	}
	return nil
}
