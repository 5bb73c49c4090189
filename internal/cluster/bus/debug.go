package bus

import (
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds what DEBUG does to the links of the bus, for tests.

// dropNothing lets all packets pass.
const dropNothing = -1

// DropPackets has packets of one type thrown away that come from now on; a negative number throws none away.
func (b *Bus) DropPackets(kind int64) { b.filter.Store(max(kind, dropNothing)) }

func (b *Bus) drops(kind wire.Type) bool { return b.filter.Load() == int64(kind) }

// KillLinks breaks the links to a node, or those from it, or both. known is false when nobody knows the node.
func (b *Bus) KillLinks(id string, to, from bool) (known bool) {
	var broken []core.LinkID
	b.core.Lock()
	for _, n := range b.core.View().Nodes {
		known = known || n.ID.String() == id
	}
	for _, l := range b.core.Links() {
		if l.Node.String() == id && (l.Inbound && from || !l.Inbound && to) {
			broken = append(broken, l.Link)
		}
	}
	b.core.Unlock()
	for _, link := range broken {
		if l := b.links.get(link); l != nil {
			l.closeNow()
		}
	}
	return known
}
