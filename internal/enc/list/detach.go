package list

import "github.com/covey-db/covey/internal/mem"

// This file holds the removal of very many elements: the pages of their nodes are taken out as they are and become a list
// of their own, which is freed in slices. That takes 16 bytes of work for each 256 nodes.

// DetachRange removes count elements from an index on, as DeleteRange does; there must be as many. What was removed in whole
// pages is not freed: it is the list with the root that is returned, 0 if there is none, which FreeSome is for.
func (l *List) DetachRange(index, count int64) (husk mem.Ref) {
	if count <= 0 {
		return 0
	}
	from, to, elems := l.pagesWithin(uint64(index), uint64(index+count))
	if from < to {
		husk = l.detachPages(from, to, elems)
		count -= int64(elems)
	}
	l.DeleteRange(index, count)
	return husk
}

// pagesWithin is the pages from, to, without to, that have no elements but those from the indexes low to high, without
// high, and how many elements they have.
func (l *List) pagesWithin(low, high uint64) (from, to int, elems uint64) {
	at, top := uint64(0), l.top()
	for from = 0; from < l.pages() && at < low; from++ {
		at += top[from*entryWords+1]
	}
	for to = from; to < l.pages() && at+top[to*entryWords+1] <= high; to++ {
		at += top[to*entryWords+1]
		elems += top[to*entryWords+1]
	}
	return from, to, elems
}

// detachPages makes a list of the pages from, to, without to, and returns its root.
func (l *List) detachPages(from, to int, elems uint64) mem.Ref {
	husk := New(l.a, l.Fill())
	husk.moveTop(to-from, false)
	husk.setPages(0, to-from)
	copy(husk.top(), l.top()[from*entryWords:to*entryWords])
	nodes := 0
	for i := from; i < to; i++ {
		nodes += l.page(i).count()
	}
	husk.h[wLen], husk.h[wNodes] = elems, uint64(nodes)
	l.h[wLen] -= elems
	l.h[wNodes] -= uint64(nodes)
	l.closePages(from, to-from)
	return husk.root
}

// closePages takes pages out of the top, which gets smaller when little of it is left.
func (l *List) closePages(i, gone int) {
	first, n, room := l.firstPage(), l.pages(), l.topRoom()
	all := l.a.Words(mem.Ref(l.h[wTop]), room*entryWords)
	at, behind := first+i, first+i+gone
	front := i < n-gone-i
	if front {
		copy(all[(first+gone)*entryWords:], all[first*entryWords:at*entryWords])
		first += gone
	} else {
		copy(all[at*entryWords:], all[behind*entryWords:(first+n)*entryWords])
	}
	n -= gone
	l.setPages(first, n)
	small := room
	for small > 1 && n <= max(small/4, 1) {
		small /= 2
	}
	if small < room {
		l.moveTop(small, front)
	}
}
