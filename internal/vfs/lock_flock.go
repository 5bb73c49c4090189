//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// tryLock locks a file that stays open. The lock belongs to the open file, so it also keeps out other parts of the process.
func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ErrLocked
	}
	return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
}
