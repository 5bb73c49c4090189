// The files of the operating system.

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// OS is the file system of the machine.
type OS struct{}

var _ FS = OS{}

// Create implements FS.
func (OS) Create(path string) (File, error) { return OS{}.OpenFile(path, createNew, fileMode) }

// Open implements FS.
func (OS) Open(path string) (File, error) { return OS{}.OpenFile(path, os.O_RDONLY, 0) }

// OpenFile implements FS.
func (OS) OpenFile(path string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(path string) error { return os.Remove(path) }

// MkdirAll implements FS.
func (OS) MkdirAll(path string, perm fs.FileMode) error { return os.MkdirAll(path, perm) }

// Stat implements FS.
func (OS) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

// ReadDir implements FS.
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// ReadFile implements FS.
func (OS) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// SyncDir implements FS.
func (OS) SyncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.IsDir():
		err = failed("sync", path, syscall.ENOTDIR)
	default:
		err = syncDirectory(f)
	}
	return errors.Join(err, f.Close())
}

// Lock implements FS.
func (OS) Lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// osFile is a file of the operating system.
type osFile struct{ *os.File }
