//go:build !linux

package vfs

import (
	"errors"
	"os"
	"syscall"
)

// SyncData implements File.
func (f osFile) SyncData() error { return f.Sync() }

// syncDirectory asks for what some systems do not offer, or do by themselves.
func syncDirectory(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, os.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
