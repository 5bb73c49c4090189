package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// SyncData implements File.
func (f osFile) SyncData() error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		for failed = syscall.EINTR; errors.Is(failed, syscall.EINTR); {
			failed = syscall.Fdatasync(int(fd))
		}
	}); err != nil {
		return err
	}
	if failed != nil {
		return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: failed}
	}
	return nil
}

func syncDirectory(f *os.File) error { return f.Sync() }
