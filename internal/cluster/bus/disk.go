package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/vfs"
)

// This file holds the reading and writing of nodes.conf.

// readConf reads nodes.conf; one that is not there or empty is that of a node that has never run.
func (b *Bus) readConf(path string, tls bool) (*wire.Conf, error) {
	data, err := b.opts.FS.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("Loading the cluster node config from %s: %w", path, err)
	}
	conf, err := wire.ParseConf(data, tls)
	if err != nil {
		return nil, fmt.Errorf("Unrecoverable error: corrupted cluster config file %q: %w", path, err)
	}
	return conf, nil
}

// disk writes nodes.conf in a goroutine of its own. What is asked for while a write is under way is written once, in its
// last form.
type disk struct {
	fs   vfs.FS
	path string
	// wrote gets a value after a write; failed gets the error that ends all writing.
	wrote  chan struct{}
	failed chan error

	mu struct { // a leaf lock
		sync.Mutex
		content     []byte
		asked, done uint64 // numbers of writes: the last asked for, the last that is durable
		ended       bool
		abandoned   bool // nobody waits any more: the bus stops
	}
	cond *sync.Cond
}

func newDisk(fsys vfs.FS, path string) *disk {
	d := &disk{fs: fsys, path: path, wrote: make(chan struct{}, 1), failed: make(chan error, 1)}
	d.cond = sync.NewCond(&d.mu)
	return d
}

// put asks for content to be written and returns the number of the write.
func (d *disk) put(content []byte) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.content = content
	d.mu.asked++
	d.cond.Broadcast()
	return d.mu.asked
}

// has says whether write n is durable.
func (d *disk) has(n uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.done >= n
}

// await waits until write n is durable; false when the disk has ended before.
func (d *disk) await(n uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.mu.done < n && !d.mu.ended && !d.mu.abandoned {
		d.cond.Wait()
	}
	return d.mu.done >= n
}

// run writes until end is called and everything that was asked for is written.
func (d *disk) run() {
	for {
		content, n, ok := d.next()
		if !ok {
			return
		}
		if err := vfs.WriteFileAtomic(d.fs, d.path, content); err != nil {
			d.failed <- fmt.Errorf("Fatal: can't update cluster config file. %w", err)
			d.end()
			return
		}
		d.mu.Lock()
		d.mu.done = n
		d.cond.Broadcast()
		d.mu.Unlock()
		select {
		case d.wrote <- struct{}{}:
		default:
		}
	}
}

func (d *disk) next() (content []byte, n uint64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.mu.done == d.mu.asked && !d.mu.ended {
		d.cond.Wait()
	}
	return d.mu.content, d.mu.asked, d.mu.done < d.mu.asked
}

// abandon ends all waiting.
func (d *disk) abandon() {
	d.mu.Lock()
	d.mu.abandoned = true
	d.cond.Broadcast()
	d.mu.Unlock()
}

// end lets run return once nothing is left to write.
func (d *disk) end() {
	d.mu.Lock()
	d.mu.ended = true
	d.cond.Broadcast()
	d.mu.Unlock()
}
