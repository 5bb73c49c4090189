package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

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
		asked, done uint64 // numbers of writes: the last asked for, the last that is in its file
		synced      bool   // what was asked for must survive a power failure before it counts as done
		late        bool   // what is in the file may not survive one yet
		quiet       bool   // and nothing else was asked for during lateSyncAfter
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

// put asks for content to be written and returns the number of the write. What is not synced survives the end of the
// process as soon as it is written, and a power failure a little later.
func (d *disk) put(content []byte, synced bool) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.content = content
	d.mu.synced = d.mu.synced || synced
	d.mu.asked++
	d.cond.Broadcast()
	return d.mu.asked
}

// has says whether write n is done.
func (d *disk) has(n uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.done >= n
}

// await waits until write n is done; false when the disk has ended before.
func (d *disk) await(n uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.mu.done < n && !d.mu.ended && !d.mu.abandoned {
		d.cond.Wait()
	}
	return d.mu.done >= n
}

const (
	// lateSyncAfter is how long after a write without fsync one is made: the next write of a slot's move comes sooner.
	lateSyncAfter = 50 * time.Millisecond
	// lateSyncMax is how long writes without fsync may follow each other before one is made with it.
	lateSyncMax = time.Second
)

// run writes until end is called and everything that was asked for is written. When there is nothing to write, what was
// written without fsync is made safe.
func (d *disk) run() {
	lastSync := time.Now()
	for {
		job, ok := d.next(time.Since(lastSync) > lateSyncMax)
		if !ok {
			return
		}
		if err := job.do(d.fs, d.path); err != nil {
			d.failed <- fmt.Errorf("Fatal: can't update cluster config file. %w", err)
			d.end()
			return
		}
		if job.synced {
			lastSync = time.Now()
		}
		d.finish(job)
	}
}

// job is one write; without content it is the fsync of the last one.
type job struct {
	content []byte
	n       uint64
	synced  bool
}

func (j job) do(fsys vfs.FS, path string) error {
	switch {
	case j.content == nil:
		return vfs.SyncFile(fsys, path)
	case j.synced:
		return vfs.WriteFileAtomic(fsys, path, j.content)
	default:
		return vfs.WriteFileUnsynced(fsys, path, j.content)
	}
}

// next waits for something to do; false when everything is done and nothing more will come. overdue says that an fsync has
// been put off for long enough.
func (d *disk) next(overdue bool) (j job, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.quiet = false
	if d.mu.late && d.mu.done == d.mu.asked {
		timer := time.AfterFunc(lateSyncAfter, d.rest)
		defer timer.Stop()
	}
	for d.mu.done == d.mu.asked && !d.mu.ended && !(d.mu.late && d.mu.quiet) { // quiet alone is a timer that came too late
		d.cond.Wait()
	}
	if d.mu.done == d.mu.asked {
		return job{n: d.mu.done, synced: true}, d.mu.late
	}
	j = job{d.mu.content, d.mu.asked, d.mu.synced || overdue && d.mu.late}
	d.mu.synced = false
	return j, true
}

// rest says that it is time for the fsync that was put off.
func (d *disk) rest() {
	d.mu.Lock()
	d.mu.quiet = true
	d.cond.Broadcast()
	d.mu.Unlock()
}

// finish tells everybody who waits for a job that it is done.
func (d *disk) finish(j job) {
	d.mu.Lock()
	d.mu.done = j.n
	d.mu.late = !j.synced
	d.cond.Broadcast()
	d.mu.Unlock()
	select {
	case d.wrote <- struct{}{}:
	default:
	}
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
