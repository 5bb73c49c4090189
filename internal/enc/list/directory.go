package list

import (
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds the directory: the top, the pages, and how a node is found, added and taken out.

const (
	entryWords = 2
	entryBytes = entryWords * wordBytes
	pageMax    = 256 // nodes of a page: what moves when a node is added in its midst is 4 KiB at most
	pageMin    = 4   // room of a new page

	pageCountShift = mem.RefBits
	pageRoomShift  = mem.RefBits + 12
	pageFieldMask  = 1<<12 - 1
)

// spot is the place of a node: a page, counted from the first, and the node's index in it.
type spot struct{ page, slot int }

// pageWord is the first word of a page.
type pageWord uint64

func (p pageWord) ref() mem.Ref { return mem.Ref(p & mem.RefMask) }
func (p pageWord) count() int   { return int(p >> pageCountShift & pageFieldMask) }
func (p pageWord) room() int    { return int(p >> pageRoomShift & pageFieldMask) }

func makePage(ref mem.Ref, count, room int) pageWord {
	return pageWord(ref) | pageWord(count)<<pageCountShift | pageWord(room)<<pageRoomShift
}

func (l *List) pages() int     { return int(uint32(l.h[wPages])) }
func (l *List) firstPage() int { return int(l.h[wPages] >> 32) }
func (l *List) topRoom() int   { return int(l.h[wRoom] >> 32) }
func (l *List) setPages(first, n int) {
	l.h[wPages] = uint64(first)<<32 | uint64(n)
}

// innerTop is where the top is when it has room for one page: in the root.
func (l *List) innerTop() mem.Ref { return l.root + wOnlyPage }

// top is the pages, two words each.
func (l *List) top() []uint64 {
	at := l.firstPage() * entryWords
	return l.a.Words(mem.Ref(l.h[wTop]), l.topRoom()*entryWords)[at : at+l.pages()*entryWords]
}

func (l *List) page(i int) pageWord { return pageWord(l.topEntry(i)[0]) }

// topEntry is the two words of page i.
func (l *List) topEntry(i int) []uint64 {
	at := (l.firstPage() + i) * entryWords
	return l.a.Words(mem.Ref(l.h[wTop]), l.topRoom()*entryWords)[at : at+entryWords : at+entryWords]
}

// entries is the nodes of a page with all its room, two words each.
func (l *List) entries(p pageWord) []uint64 { return l.a.Words(p.ref(), p.room()*entryWords) }

// entry is the two words of a node.
func (l *List) entry(s spot) []uint64 {
	at := s.slot * entryWords
	return l.entries(l.page(s.page))[at : at+entryWords : at+entryWords]
}

// both is the two words of a node and those of its page.
func (l *List) both(s spot) (entry, page []uint64) {
	page = l.topEntry(s.page)
	at := s.slot * entryWords
	return l.entries(pageWord(page[0]))[at : at+entryWords : at+entryWords], page
}

// lastBoth is both for the last node of a list that is not empty.
func (l *List) lastBoth() (entry, page []uint64) {
	page = l.topEntry(l.pages() - 1)
	p := pageWord(page[0])
	at := (p.count() - 1) * entryWords
	return l.entries(p)[at : at+entryWords : at+entryWords], page
}

func (l *List) first() (s spot, ok bool) { return spot{}, l.Nodes() > 0 }

func (l *List) last() (s spot, ok bool) {
	if l.Nodes() == 0 {
		return s, false
	}
	page := l.pages() - 1
	return spot{page, l.page(page).count() - 1}, true
}

func (l *List) next(s spot) (spot, bool) {
	if s.slot+1 < l.page(s.page).count() {
		return spot{s.page, s.slot + 1}, true
	}
	if s.page+1 < l.pages() {
		return spot{s.page + 1, 0}, true
	}
	return s, false
}

func (l *List) prev(s spot) (spot, bool) {
	if s.slot > 0 {
		return spot{s.page, s.slot - 1}, true
	}
	if s.page > 0 {
		return spot{s.page - 1, l.page(s.page-1).count() - 1}, true
	}
	return s, false
}

// seek is the node that has the element with an index, which must be there, and the element's index in it.
func (l *List) seek(index int64) (s spot, offset int) {
	top, left := l.top(), uint64(index)
	for top[s.page*entryWords+1] <= left {
		left -= top[s.page*entryWords+1]
		s.page++
	}
	nodes := l.entries(pageWord(top[s.page*entryWords]))
	for {
		count := uint64(entryCount(nodes[s.slot*entryWords]))
		if count > left {
			return s, int(left)
		}
		left -= count
		s.slot++
	}
}

// load reads a node's entry.
func (l *List) load(s spot) (n node) {
	n.decode(l.entry(s))
	return n
}

// store writes a node's entry; the sums of the elements follow.
func (l *List) store(s spot, n *node) {
	e, t := l.both(s)
	l.storeAt(e, t, n)
}

// storeAt is store where the words of the node and its page are known.
func (l *List) storeAt(entry, page []uint64, n *node) {
	change := uint64(n.count) - uint64(entryCount(entry[0]))
	n.encode(entry)
	page[1] += change
	l.h[wLen] += change
}

// add puts a node at a place, before what is there, and returns its place. Other nodes may have changed theirs after that.
func (l *List) add(s spot, n *node) spot {
	switch {
	case l.pages() == 0:
		l.addPage(0)
	case l.atEnd(s):
		s = spot{s.page - 1, l.page(s.page - 1).count()}
	}
	if l.page(s.page).count() == pageMax {
		s = l.makeRoom(s)
	}
	p := l.page(s.page)
	if p.count() == p.room() {
		p = l.resizePage(s.page, min(p.room()*2, pageMax))
	}
	all, at := l.entries(p), s.slot*entryWords
	copy(all[at+entryWords:(p.count()+1)*entryWords], all[at:p.count()*entryWords])
	clear(all[at : at+entryWords])
	l.topEntry(s.page)[0] = uint64(makePage(p.ref(), p.count()+1, p.room()))
	l.h[wNodes]++
	l.store(s, n)
	return s
}

// makeRoom gives a place for a node instead of one in a full page. Beyond the ends of a page a neighbour or a new page is
// taken, so that pages are full when a list grows at its ends; otherwise the page is split.
func (l *List) makeRoom(s spot) spot {
	switch {
	case s.slot == pageMax:
		if s.page+1 == l.pages() || l.page(s.page+1).count() == pageMax {
			l.addPage(s.page + 1)
		}
		return spot{s.page + 1, 0}
	case s.slot == 0 && s.page > 0 && l.page(s.page-1).count() < pageMax:
		return spot{s.page - 1, l.page(s.page - 1).count()}
	case s.slot == 0:
		l.addPage(s.page)
		return s
	}
	l.addPage(s.page + 1)
	l.resizePage(s.page+1, pageMax)
	l.moveNodes(s.page, pageMax/2, s.page+1)
	if s.slot > pageMax/2 {
		return spot{s.page + 1, s.slot - pageMax/2}
	}
	return s
}

// moveNodes moves the nodes of a page from an index on to the end of another page, which has the room for them.
func (l *List) moveNodes(from, index, to int) {
	src, dst := l.page(from), l.page(to)
	moved := l.entries(src)[index*entryWords : src.count()*entryWords]
	copy(l.entries(dst)[dst.count()*entryWords:], moved)
	sum := uint64(0)
	for i := 0; i < len(moved); i += entryWords {
		sum += uint64(entryCount(moved[i]))
	}
	l.topEntry(from)[0] = uint64(makePage(src.ref(), index, src.room()))
	l.topEntry(to)[0] = uint64(makePage(dst.ref(), dst.count()+len(moved)/entryWords, dst.room()))
	l.topEntry(from)[1] -= sum
	l.topEntry(to)[1] += sum
}

// remove takes a node, which has been freed, out of the directory. It returns the place of the node that followed, which
// is behind the last one when there is none.
func (l *List) remove(s spot) spot {
	p, t := l.page(s.page), l.topEntry(s.page)
	all, at := l.entries(p), s.slot*entryWords
	count := uint64(entryCount(all[at]))
	copy(all[at:], all[at+entryWords:p.count()*entryWords])
	t[0] = uint64(makePage(p.ref(), p.count()-1, p.room()))
	t[1] -= count
	l.h[wLen] -= count
	l.h[wNodes]--
	return l.tidy(s)
}

// tidy removes a page that has become empty, joins one that has few nodes with a neighbour, and gives room back.
func (l *List) tidy(s spot) spot {
	p := l.page(s.page)
	n := p.count()
	switch {
	case n == 0:
		l.removePage(s.page)
		return spot{s.page, 0}
	case s.page > 0 && n+l.page(s.page-1).count() <= pageMax/2:
		s = spot{s.page - 1, l.page(s.page-1).count() + s.slot}
		l.join(s.page)
	case s.page+1 < l.pages() && n+l.page(s.page+1).count() <= pageMax/2:
		l.join(s.page)
	case n <= p.room()/4 && p.room() > pageMin:
		l.resizePage(s.page, p.room()/2)
	}
	if s.slot == l.page(s.page).count() {
		return spot{s.page + 1, 0}
	}
	return s
}

// join moves all nodes of the page behind page i into page i.
func (l *List) join(i int) {
	if p, want := l.page(i), l.page(i).count()+l.page(i+1).count(); p.room() < want {
		l.resizePage(i, min(max(want, p.room()*2), pageMax))
	}
	l.moveNodes(i+1, 0, i)
	l.removePage(i + 1)
}

// atEnd tells whether a place is behind the last node.
func (l *List) atEnd(s spot) bool { return s.page == l.pages() }

// resizePage gives a page another room.
func (l *List) resizePage(i, room int) pageWord {
	p, t := l.page(i), l.topEntry(i)
	ref := l.a.Resize(mem.ForList, p.ref(), p.room()*entryBytes, room*entryBytes)
	p = makePage(ref, p.count(), room)
	t[0] = uint64(p)
	return p
}

// addPage puts an empty page at an index.
func (l *List) addPage(i int) {
	first, n, room := l.firstPage(), l.pages(), l.topRoom()
	if n == room || first == 0 && i < n/2 || first+n == room && i >= n/2 {
		l.growTop(i < n/2 || n > 0 && i == 0)
		first, room = l.firstPage(), l.topRoom()
	}
	all := l.a.Words(mem.Ref(l.h[wTop]), room*entryWords)
	at := (first + i) * entryWords
	if first > 0 && (i < n/2 || first+n == room) {
		copy(all[(first-1)*entryWords:], all[first*entryWords:at])
		first--
		at -= entryWords
	} else {
		copy(all[at+entryWords:], all[at:(first+n)*entryWords])
	}
	all[at] = uint64(makePage(l.a.Alloc(mem.ForList, pageMin*entryBytes), 0, pageMin))
	all[at+1] = 0
	l.setPages(first, n+1)
}

// growTop moves the pages to where there is room at one end: in a top of twice the room, or of the same if half of it is
// empty.
func (l *List) growTop(front bool) {
	first, n, room := l.firstPage(), l.pages(), l.topRoom()
	want := room
	if n > room/2 {
		want = room * 2
	}
	l.moveTop(want, front)
	invariant.That(first+n <= room, "list: more pages than the top has room for")
}

// moveTop moves the pages to the end (front: so that there is room before them) or the start of a top with a room.
func (l *List) moveTop(room int, front bool) {
	n, first := l.pages(), 0
	if front {
		first = room - n
	}
	ref := l.innerTop()
	if room > 1 {
		ref = l.a.Alloc(mem.ForList, room*entryBytes)
	}
	copy(l.a.Words(ref, room*entryWords)[first*entryWords:], l.top())
	if was := l.topRoom(); was > 1 {
		l.a.Free(mem.ForList, mem.Ref(l.h[wTop]), was*entryBytes)
	}
	l.h[wTop] = uint64(ref)
	l.h[wRoom] = uint64(room)<<32 | l.h[wRoom]&(1<<32-1)
	l.setPages(first, n)
}

// removePage frees a page without nodes.
func (l *List) removePage(i int) {
	p := l.page(i)
	invariant.That(p.count() == 0, "list: a page with nodes is removed")
	l.a.Free(mem.ForList, p.ref(), p.room()*entryBytes)
	l.closePages(i, 1)
}
