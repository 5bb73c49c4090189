// Open files in memory.

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// memFile is an open file. Its fields are guarded by the lock of its file system.
type memFile struct {
	fs      *Mem
	node    *node
	name    string
	flag    int
	at      int64
	crashes int // of the file system when the file was opened
	closed  bool
}

var errAppendAt = errors.New("invalid use of WriteAt on file opened with O_APPEND")

// use runs what a method does, with the lock held, and dresses its error.
func (f *memFile) use(op string, do func() error) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	err := f.state()
	if err == nil {
		err = do()
	}
	if err != nil && err != io.EOF {
		return failed(op, f.name, err)
	}
	return err
}

func (f *memFile) state() error {
	if f.closed || f.crashes != f.fs.mu.crashes {
		return fs.ErrClosed
	}
	return nil
}

func (f *memFile) canRead() error {
	switch {
	case f.flag&os.O_WRONLY != 0:
		return syscall.EBADF
	case f.node.dir:
		return syscall.EISDIR
	}
	return nil
}

func (f *memFile) canWrite() error {
	if f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return syscall.EBADF
	}
	return nil
}

// Name implements File.
func (f *memFile) Name() string { return f.name }

// Read implements File.
func (f *memFile) Read(b []byte) (n int, err error) {
	err = f.use("read", func() error {
		n, err = f.readAt(b, f.at)
		f.at += int64(n)
		if n > 0 {
			return nil
		}
		return err
	})
	return n, err
}

// ReadAt implements File.
func (f *memFile) ReadAt(b []byte, off int64) (n int, err error) {
	err = f.use("read", func() error {
		n, err = f.readAt(b, off)
		return err
	})
	return n, err
}

func (f *memFile) readAt(b []byte, off int64) (int, error) {
	if err := f.canRead(); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, syscall.EINVAL
	}
	if len(b) == 0 {
		return 0, nil
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.node.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Write implements File.
func (f *memFile) Write(b []byte) (n int, err error) {
	err = f.use("write", func() error {
		if f.flag&os.O_APPEND != 0 {
			f.at = int64(len(f.node.data))
		}
		n, err = f.writeAt(b, f.at)
		f.at += int64(n)
		return err
	})
	return n, err
}

// WriteAt implements File.
func (f *memFile) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.use("write", func() error {
		if f.flag&os.O_APPEND != 0 {
			return errAppendAt
		}
		n, err = f.writeAt(b, off)
		return err
	})
	return n, err
}

func (f *memFile) writeAt(b []byte, off int64) (int, error) {
	if err := f.canWrite(); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, syscall.EINVAL
	}
	if len(b) == 0 {
		return 0, nil
	}
	if end := off + int64(len(b)); end > int64(len(f.node.data)) {
		f.node.resize(end)
	}
	f.node.clean = min(f.node.clean, int(off))
	return copy(f.node.data[off:], b), nil
}

// resize cuts a file, or fills it up with zeros.
func (n *node) resize(size int64) {
	if more := size - int64(len(n.data)); more > 0 {
		n.data = append(n.data, make([]byte, more)...)
		return
	}
	n.data = n.data[:size:size] // what is behind must not come back
	n.clean = min(n.clean, len(n.data))
}

// Seek implements File.
func (f *memFile) Seek(offset int64, whence int) (at int64, err error) {
	err = f.use("seek", func() error {
		switch whence {
		case io.SeekCurrent:
			offset += f.at
		case io.SeekEnd:
			offset += int64(len(f.node.data))
		}
		if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
			return syscall.EINVAL
		}
		f.at, at = offset, offset
		return nil
	})
	return at, err
}

// Truncate implements File.
func (f *memFile) Truncate(size int64) error {
	return f.use("truncate", func() error {
		if size < 0 || f.canWrite() != nil {
			return syscall.EINVAL
		}
		f.node.resize(size)
		return nil
	})
}

// Stat implements File.
func (f *memFile) Stat() (info fs.FileInfo, err error) {
	err = f.use("stat", func() error {
		info = f.node.info(filepath.Base(f.name))
		return nil
	})
	return info, err
}

// Sync implements File.
func (f *memFile) Sync() error {
	return f.use("sync", func() error {
		n := f.node
		n.safeData = append(n.safeData[:n.clean], n.data[n.clean:]...)
		n.clean = len(n.data)
		return nil
	})
}

// SyncData implements File.
func (f *memFile) SyncData() error { return f.Sync() }

// Close implements File.
func (f *memFile) Close() error {
	return f.use("close", func() error {
		f.closed = true
		return nil
	})
}
