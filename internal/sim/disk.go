package sim

// This file holds a node's disk: one small file, written as a whole. A write with sync survives a loss of power once it
// is done; one without survives the end of the process at once, and a loss of power perhaps.

// disk is the disk of one node.
type disk struct {
	// durable is what a loss of power leaves; written what the end of the process leaves.
	durable, written []byte
	// syncTime is how long a write with sync takes, between half and twice of it.
	syncTime instant
	// busyUntil is when the writes that were ordered will be done.
	busyUntil instant
}

// syncTimeUsual is the time of a sync on a healthy disk.
const syncTimeUsual = 2 * millisecond

// write orders a write and calls done when it is done.
func (n *node) write(content []byte, sync bool, done func()) {
	d, w, life := &n.disk, n.w, n.life
	took := instant(0)
	if sync {
		took = w.between(d.syncTime/2, 2*d.syncTime)
	}
	d.busyUntil = max(d.busyUntil, w.now) + took
	if d.busyUntil == w.now {
		d.written = content
		done()
		return
	}
	w.after(d.busyUntil-w.now, func() {
		if n.life != life {
			return // the process has ended before the file was renamed
		}
		d.written = content
		if sync {
			d.durable = content
		}
		n.deliver(life, done)
	})
}

// losePower takes back what was not synced, unless it happened to reach the disk.
func (n *node) losePower() {
	if n.w.chance(0.5) {
		n.disk.written = n.disk.durable
	} else {
		n.disk.durable = n.disk.written
	}
}
