// Files that fail, that run out of space and that take their time, when a test wants them to.

package vfs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Op is a kind of call, or a set of them.
type Op uint16

// The kinds of calls.
const (
	OpOpen Op = 1 << iota // Create, Open, OpenFile
	OpRename
	OpRemove
	OpMkdir
	OpStat // Stat of a path or a file
	OpReadDir
	OpSyncDir
	OpLock
	OpRead  // ReadFile too
	OpWrite // Write, WriteAt
	OpSync  // Sync, SyncData
	OpTruncate
	OpSeek
	OpClose
	OpAny Op = 1<<iota - 1
)

// Calls says which calls a fault is about.
type Calls struct {
	Op   Op     // 0: any
	Name string // pattern of filepath.Match for the last part of the path; of Rename, the new one. "": any
	Skip int    // so many matching calls go well before
	Max  int    // so many calls are hit, 0: all from then on
}

// Faulty is a file system on top of another one. Any goroutine may use it and set faults.
type Faulty struct {
	inner FS
	mu    struct { // a leaf lock; it is not held while a call waits
		sync.Mutex
		faults  []*fault
		free    int64 // bytes left, if limited
		limited bool
		counts  map[Op]int
	}
}

var _ FS = (*Faulty)(nil)

type fault struct {
	calls Calls
	err   error  // nil: the call goes on
	wait  func() // nil: it does not take time
}

// NewFaulty returns a file system that does what inner does until faults are set.
func NewFaulty(inner FS) *Faulty {
	f := &Faulty{inner: inner}
	f.mu.counts = map[Op]int{}
	return f
}

// Fail makes calls return an error, without doing anything. Write fails after half of its bytes, which is the worse case.
func (f *Faulty) Fail(calls Calls, err error) { f.add(&fault{calls: calls, err: err}) }

// Slow makes calls wait: wait is called before the call is carried out. It may block, move a clock, or pull the plug.
func (f *Faulty) Slow(calls Calls, wait func()) { f.add(&fault{calls: calls, wait: wait}) }

func (f *Faulty) add(x *fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.faults = append(f.mu.faults, x)
}

// LimitSpace leaves so many bytes on the disk; when they are used up, a write takes what fits and fails with ENOSPC. Every
// byte that is written counts, also over another one; what is removed, truncated or replaced is given back.
func (f *Faulty) LimitSpace(free int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.free, f.mu.limited = free, true
}

// Heal takes all faults and the limit away.
func (f *Faulty) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.faults, f.mu.limited = nil, false
}

// Count tells how many calls of a kind there were, the failed ones included.
func (f *Faulty) Count(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for kind, calls := range f.mu.counts {
		if kind&op != 0 {
			n += calls
		}
	}
	return n
}

// call counts a call and carries out the faults that hit it.
func (f *Faulty) call(op Op, path string) error {
	var waits []func()
	var err error
	f.mu.Lock()
	f.mu.counts[op]++
	for _, x := range f.mu.faults {
		if !x.hits(op, path) {
			continue
		}
		if x.wait != nil {
			waits = append(waits, x.wait)
		}
		if err == nil {
			err = x.err
		}
	}
	f.mu.Unlock()
	for _, wait := range waits {
		wait()
	}
	return err
}

// hits tells whether a fault is about a call, and counts it if so.
func (x *fault) hits(op Op, path string) bool {
	c := &x.calls
	if c.Op != 0 && c.Op&op == 0 {
		return false
	}
	if c.Name != "" {
		if ok, err := filepath.Match(c.Name, filepath.Base(path)); err != nil || !ok {
			return false
		}
	}
	switch {
	case c.Skip > 0:
		c.Skip--
		return false
	case c.Max > 1:
		c.Max--
	case c.Max == 1:
		c.Max = -1
	case c.Max < 0:
		return false
	}
	return true
}

// take asks for space and returns how much there is of it.
func (f *Faulty) take(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.mu.limited {
		return n
	}
	got := min(int64(n), max(f.mu.free, 0))
	f.mu.free -= got
	return int(got)
}

func (f *Faulty) give(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.free += max(n, 0)
}

// sizeOf is the size of a file, 0 if there is none.
func (f *Faulty) sizeOf(path string) int64 {
	info, err := f.inner.Stat(path)
	if err != nil || info.IsDir() {
		return 0
	}
	return info.Size()
}

// do carries a call on a path out.
func (f *Faulty) do(op Op, name, path string, call func() error) error {
	if err := f.call(op, path); err != nil {
		return failed(name, path, err)
	}
	return call()
}

// Create implements FS.
func (f *Faulty) Create(path string) (File, error) { return f.OpenFile(path, createNew, fileMode) }

// Open implements FS.
func (f *Faulty) Open(path string) (File, error) { return f.OpenFile(path, os.O_RDONLY, 0) }

// OpenFile implements FS.
func (f *Faulty) OpenFile(path string, flag int, perm fs.FileMode) (file File, err error) {
	err = f.do(OpOpen, "open", path, func() error {
		var size int64
		if flag&os.O_TRUNC != 0 {
			size = f.sizeOf(path)
		}
		inner, err := f.inner.OpenFile(path, flag, perm)
		if err != nil {
			return err
		}
		f.give(size)
		file = &faultyFile{File: inner, fs: f}
		return nil
	})
	return file, err
}

// Rename implements FS.
func (f *Faulty) Rename(from, to string) error {
	return f.do(OpRename, "rename", to, func() error {
		size := f.sizeOf(to)
		err := f.inner.Rename(from, to)
		if err == nil {
			f.give(size)
		}
		return err
	})
}

// Remove implements FS.
func (f *Faulty) Remove(path string) error {
	return f.do(OpRemove, "remove", path, func() error {
		size := f.sizeOf(path)
		err := f.inner.Remove(path)
		if err == nil {
			f.give(size)
		}
		return err
	})
}

// MkdirAll implements FS.
func (f *Faulty) MkdirAll(path string, perm fs.FileMode) error {
	return f.do(OpMkdir, "mkdir", path, func() error { return f.inner.MkdirAll(path, perm) })
}

// Stat implements FS.
func (f *Faulty) Stat(path string) (info fs.FileInfo, err error) {
	err = f.do(OpStat, "stat", path, func() error {
		info, err = f.inner.Stat(path)
		return err
	})
	return info, err
}

// ReadDir implements FS.
func (f *Faulty) ReadDir(path string) (list []fs.DirEntry, err error) {
	err = f.do(OpReadDir, "open", path, func() error {
		list, err = f.inner.ReadDir(path)
		return err
	})
	return list, err
}

// ReadFile implements FS.
func (f *Faulty) ReadFile(path string) (content []byte, err error) {
	err = f.do(OpRead, "read", path, func() error {
		content, err = f.inner.ReadFile(path)
		return err
	})
	return content, err
}

// SyncDir implements FS.
func (f *Faulty) SyncDir(path string) error {
	return f.do(OpSyncDir, "sync", path, func() error { return f.inner.SyncDir(path) })
}

// Lock implements FS.
func (f *Faulty) Lock(path string) (lock io.Closer, err error) {
	err = f.do(OpLock, "lock", path, func() error {
		lock, err = f.inner.Lock(path)
		return err
	})
	return lock, err
}

// faultyFile is an open file of a Faulty.
type faultyFile struct {
	File
	fs *Faulty
}

func (f *faultyFile) do(op Op, name string, call func() error) error {
	return f.fs.do(op, name, f.Name(), call)
}

func (f *faultyFile) Read(b []byte) (n int, err error) {
	err = f.do(OpRead, "read", func() error {
		n, err = f.File.Read(b)
		return err
	})
	return n, err
}

func (f *faultyFile) ReadAt(b []byte, off int64) (n int, err error) {
	err = f.do(OpRead, "read", func() error {
		n, err = f.File.ReadAt(b, off)
		return err
	})
	return n, err
}

func (f *faultyFile) Write(b []byte) (int, error) { return f.write(b, f.File.Write) }

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	return f.write(b, func(part []byte) (int, error) { return f.File.WriteAt(part, off) })
}

// write writes as much as the faults and the space allow.
func (f *faultyFile) write(b []byte, write func([]byte) (int, error)) (int, error) {
	fault := f.fs.call(OpWrite, f.Name())
	part := b
	if fault != nil {
		part = b[:len(b)/2]
	}
	if room := f.fs.take(len(part)); room < len(part) {
		part, fault = part[:room], syscall.ENOSPC
	}
	n, err := write(part)
	f.fs.give(int64(len(part) - n))
	if err == nil && fault != nil {
		err = failed("write", f.Name(), fault)
	}
	return n, err
}

func (f *faultyFile) Seek(offset int64, whence int) (at int64, err error) {
	err = f.do(OpSeek, "seek", func() error {
		at, err = f.File.Seek(offset, whence)
		return err
	})
	return at, err
}

func (f *faultyFile) Stat() (info fs.FileInfo, err error) {
	err = f.do(OpStat, "stat", func() error {
		info, err = f.File.Stat()
		return err
	})
	return info, err
}

func (f *faultyFile) Truncate(size int64) error {
	return f.do(OpTruncate, "truncate", func() error {
		info, err := f.File.Stat()
		if err != nil {
			return err
		}
		if err := f.File.Truncate(size); err != nil {
			return err
		}
		f.fs.give(info.Size() - size)
		return nil
	})
}

func (f *faultyFile) Sync() error { return f.do(OpSync, "sync", f.File.Sync) }

func (f *faultyFile) SyncData() error { return f.do(OpSync, "sync", f.File.SyncData) }

// Close closes the file even if it is to fail: a file that could not be closed is closed all the same.
func (f *faultyFile) Close() error {
	fault := f.fs.call(OpClose, f.Name())
	err := f.File.Close()
	if err == nil && fault != nil {
		err = failed("close", f.Name(), fault)
	}
	return err
}
