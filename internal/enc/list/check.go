package list

import (
	"fmt"

	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/mem"
)

// Check walks over the whole list and is an error when its parts contradict each other.
func (l *List) Check() error {
	elems, nodes := uint64(0), 0
	for i := range l.pages() {
		p := l.page(i)
		if p.count() == 0 || p.count() > p.room() || p.room() > pageMax {
			return fmt.Errorf("list: page %d has %d nodes and room for %d", i, p.count(), p.room())
		}
		sum := uint64(0)
		for j := range p.count() {
			n := l.load(spot{i, j})
			if err := l.checkNode(&n); err != nil {
				return fmt.Errorf("list: page %d, node %d: %w", i, j, err)
			}
			sum += uint64(n.count)
		}
		if t := l.topEntry(i)[1]; sum != t {
			return fmt.Errorf("list: page %d has %d elements, counted %d", i, t, sum)
		}
		elems += sum
		nodes += p.count()
	}
	if elems != l.h[wLen] || nodes != l.Nodes() || l.firstPage()+l.pages() > l.topRoom() {
		return fmt.Errorf("list: %d elements in %d nodes, counted %d in %d", l.h[wLen], l.Nodes(), elems, nodes)
	}
	return nil
}

func (l *List) checkNode(n *node) error {
	if n.start+n.size > mem.Usable(n.room) || n.count == 0 {
		return fmt.Errorf("%d elements, %d bytes from %d on in %d", n.count, n.size, n.start, n.room)
	}
	if n.plain {
		return nil
	}
	lp := l.bytes(n)
	if err := listpack.Validate(lp, true); err != nil {
		return err
	}
	if listpack.Len(lp) != n.count {
		return fmt.Errorf("%d elements, counted %d", n.count, listpack.Len(lp))
	}
	return nil
}
