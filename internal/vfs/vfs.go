// Package vfs is files as the rest of the server sees them: those of the operating system, files in memory that know what a
// power failure leaves of them, and files that fail on demand.
//
// What is written is not safe before Sync (or SyncData), and a name that was created, renamed or removed is not safe before
// SyncDir of its directory. A Sync that failed must not be tried again on the same file: the data it was about may be gone
// although a second call succeeds.
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FS is a file system. Its errors wrap those of io/fs and syscall, so errors.Is finds fs.ErrNotExist, syscall.ENOSPC and the
// like. Any goroutine may use it.
type FS interface {
	// Create opens an empty file for reading and writing; what was in it is gone.
	Create(path string) (File, error)
	// Open opens a file for reading.
	Open(path string) (File, error)
	// OpenFile opens a file with the flags of package os: O_RDONLY, O_RDWR, O_CREATE, O_EXCL, O_TRUNC, O_APPEND.
	OpenFile(path string, flag int, perm fs.FileMode) (File, error)
	// Rename gives a file another name; a file that has this name is replaced in one step.
	Rename(from, to string) error
	// Remove removes a file or an empty directory.
	Remove(path string) error
	// MkdirAll makes a directory and those above it, if they are not there.
	MkdirAll(path string, perm fs.FileMode) error
	Stat(path string) (fs.FileInfo, error)
	// ReadDir lists a directory by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	ReadFile(path string) ([]byte, error)
	// SyncDir makes the names in a directory safe.
	SyncDir(path string) error
	// Lock takes an exclusive lock on a file, which is made if it is not there, until the returned value is closed or the
	// process ends. It does not wait: ErrLocked says that somebody else has it. A file must not be renamed while it is the
	// lock, so it is best to have one for this only.
	Lock(path string) (io.Closer, error)
}

// File is an open file. One goroutine at a time may use it, but for ReadAt and WriteAt.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Seeker
	io.Closer
	// Name is the path the file was opened with.
	Name() string
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	// Sync makes the content safe.
	Sync() error
	// SyncData is Sync, but for times and the like, which no reader needs. It is what a log wants.
	SyncData() error
}

// ErrLocked says that another process, or another part of this one, has the lock.
var ErrLocked = errors.New("the file is locked")

const (
	fileMode  = 0o644 // before umask, as Redis
	tempEnd   = ".tmp"
	createNew = os.O_RDWR | os.O_CREATE | os.O_TRUNC
)

// WriteFileAtomic gives a file a new content: a reader, and whoever comes after a power failure, finds all of the old content
// or all of the new. When it returns nil the new content is safe.
func WriteFileAtomic(fsys FS, path string, content []byte) error {
	return ReplaceFile(fsys, path, func(f File) error {
		_, err := f.Write(content)
		return err
	})
}

// WriteFileUnsynced is WriteFileAtomic without the wait for the disk: the new content is safe from the end of the process at
// once, from a power failure only after SyncFile.
func WriteFileUnsynced(fsys FS, path string, content []byte) error {
	return replaceFile(fsys, path, func(f File) error {
		_, err := f.Write(content)
		return err
	}, false)
}

// SyncFile makes what is in a file, and its name, safe from a power failure.
func SyncFile(fsys FS, path string) error {
	f, err := fsys.OpenFile(path, os.O_RDWR, fileMode)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}

// ReplaceFile is WriteFileAtomic for a content that write produces. It goes into a file next to the other one, whose name has
// ".tmp" at the end; so two of them at a time for one path do not go together. Of a file that exists, the permissions are kept.
func ReplaceFile(fsys FS, path string, write func(File) error) error {
	return replaceFile(fsys, path, write, true)
}

func replaceFile(fsys FS, path string, write func(File) error, synced bool) error {
	perm := fs.FileMode(fileMode)
	if info, err := fsys.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	temp := path + tempEnd
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if err := writeAndClose(f, write, synced); err != nil {
		return errors.Join(err, fsys.Remove(temp))
	}
	if err := fsys.Rename(temp, path); err != nil {
		return errors.Join(err, fsys.Remove(temp))
	}
	if !synced {
		return nil
	}
	return fsys.SyncDir(filepath.Dir(path))
}

func writeAndClose(f File, write func(File) error, synced bool) error {
	err := write(f)
	if err == nil && synced {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// MakeDirSafe is MkdirAll whose result a power failure does not undo.
func MakeDirSafe(fsys FS, path string, perm fs.FileMode) error {
	path = filepath.Clean(path)
	names := []string{path} // from the bottom up; the last of an earlier try may be there and not be safe
	for at := filepath.Dir(path); filepath.Dir(at) != at; at = filepath.Dir(at) {
		if _, err := fsys.Stat(at); err == nil {
			break
		}
		names = append(names, at)
	}
	if err := fsys.MkdirAll(path, perm); err != nil {
		return err
	}
	for _, dir := range names {
		if err := fsys.SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}
