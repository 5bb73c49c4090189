package rdb

import "encoding/binary"

// A stream is written as TypeStream2 and AppendLen(number of nodes); for each node its master ID with
// AppendStreamMaster and its listpack with AppendString; AppendStreamMeta; AppendLen(number of groups); for each group
// AppendStreamGroup, AppendLen(pending entries), AppendStreamPending for each in ascending order, AppendLen(consumers);
// for each consumer AppendStreamConsumer, AppendLen(entries owned) and AppendStreamID for each in ascending order.

// AppendStreamID writes an ID as it stands among pending entries.
func AppendStreamID(dst []byte, id StreamID) []byte {
	dst = binary.BigEndian.AppendUint64(dst, id.Ms)
	return binary.BigEndian.AppendUint64(dst, id.Seq)
}

// AppendStreamMaster writes the ID that stands before a node.
func AppendStreamMaster(dst []byte, id StreamID) []byte {
	return AppendStreamID(AppendLen(dst, streamIDBytes), id)
}

func appendLengthID(dst []byte, id StreamID) []byte {
	return AppendLen(AppendLen(dst, id.Ms), id.Seq)
}

// AppendStreamMeta writes what follows the nodes.
func AppendStreamMeta(dst []byte, m StreamMeta) []byte {
	dst = AppendLen(dst, m.Length)
	dst = appendLengthID(dst, m.LastID)
	dst = appendLengthID(dst, m.FirstID)
	dst = appendLengthID(dst, m.MaxDeleted)
	return AppendLen(dst, m.EntriesAdded)
}

// AppendStreamGroup writes the head of a group.
func AppendStreamGroup(dst []byte, g StreamGroup) []byte {
	dst = AppendString(dst, g.Name, nil)
	dst = appendLengthID(dst, g.LastID)
	return AppendLen(dst, uint64(g.EntriesRead)) // NB: unknown is -1, all bits set
}

// AppendStreamPending writes a pending entry of a group.
func AppendStreamPending(dst []byte, p StreamPending) []byte {
	dst = AppendStreamID(dst, p.ID)
	dst = AppendMillis(dst, p.DeliveredAt)
	return AppendLen(dst, p.Deliveries)
}

// AppendStreamConsumer writes the head of a consumer. Its active time has no place in TypeStream2.
func AppendStreamConsumer(dst []byte, c StreamConsumer) []byte {
	return AppendMillis(AppendString(dst, c.Name, nil), c.SeenAt)
}
