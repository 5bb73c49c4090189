// Files in memory that tell what is safe from what is not.
//
// A node is a file or a directory. A file has the bytes that readers see and those that were there at the last Sync; a
// directory has the names that users see and those that were there at the last SyncDir. Crash goes back to the latter.
// Between the two, a journal holds the changes of names in their order, since a journalling file system may have made
// any first part of them safe by itself.

package vfs

import (
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Mem is a file system in memory. Paths that do not begin with a slash are below the root. It has no times and no owners.
type Mem struct {
	mu struct { // guards everything below the root too; nothing else is locked while it is held
		sync.Mutex
		root    *node
		journal [][]nameChange
		locks   map[*node]*memLock
		crashes int // open files of before the last crash do not work any more
	}
}

var _ FS = (*Mem)(nil)

// node is a file or a directory.
type node struct {
	perm fs.FileMode
	dir  bool

	names, safeNames map[string]*node // of a directory
	data, safeData   []byte           // of a file
	clean            int              // so many first bytes are the same in data and safeData
}

// nameChange is a name that was set to a node, or removed. A rename is two of them that come together.
type nameChange struct {
	dir  *node
	name string
	to   *node // nil: removed
}

// NewMem returns an empty file system.
func NewMem() *Mem {
	m := &Mem{}
	m.mu.root = newDir(0o755)
	m.mu.locks = map[*node]*memLock{}
	return m
}

func newDir(perm fs.FileMode) *node {
	return &node{perm: perm, dir: true, names: map[string]*node{}, safeNames: map[string]*node{}}
}

// split takes a path apart; the root has no parts.
func split(path string) []string {
	path = strings.Trim(filepath.ToSlash(filepath.Clean("/"+path)), "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// walk finds the node of a path.
func (m *Mem) walk(parts []string) (*node, error) {
	at := m.mu.root
	for _, name := range parts {
		if !at.dir {
			return nil, syscall.ENOTDIR
		}
		next, ok := at.names[name]
		if !ok {
			return nil, syscall.ENOENT
		}
		at = next
	}
	return at, nil
}

// parent finds the directory that a path is in, and its name there.
func (m *Mem) parent(path string) (dir *node, name string, err error) {
	parts := split(path)
	if len(parts) == 0 {
		return nil, "", syscall.EEXIST
	}
	dir, err = m.walk(parts[:len(parts)-1])
	if err == nil && !dir.dir {
		err = syscall.ENOTDIR
	}
	return dir, parts[len(parts)-1], err
}

// change changes names of directories, for now.
func (m *Mem) change(changes ...nameChange) {
	m.mu.journal = append(m.mu.journal, changes)
	for _, c := range changes {
		c.apply(c.dir.names)
	}
}

func (c nameChange) apply(names map[string]*node) {
	if c.to == nil {
		delete(names, c.name)
		return
	}
	names[c.name] = c.to
}

func failed(op, path string, err error) error { return &fs.PathError{Op: op, Path: path, Err: err} }

// Create implements FS.
func (m *Mem) Create(path string) (File, error) { return m.OpenFile(path, createNew, fileMode) }

// Open implements FS.
func (m *Mem) Open(path string) (File, error) { return m.OpenFile(path, os.O_RDONLY, 0) }

// OpenFile implements FS.
func (m *Mem) OpenFile(path string, flag int, perm fs.FileMode) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.openNode(path, flag, perm)
	if err != nil {
		return nil, failed("open", path, err)
	}
	return &memFile{fs: m, node: n, name: path, flag: flag, crashes: m.mu.crashes}, nil
}

func (m *Mem) openNode(path string, flag int, perm fs.FileMode) (*node, error) {
	n, err := m.walk(split(path))
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	switch {
	case err == nil && flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, syscall.EEXIST
	case err == nil && n.dir && (writes || flag&(os.O_CREATE|os.O_TRUNC) != 0):
		return nil, syscall.EISDIR
	case err == nil:
		if flag&os.O_TRUNC != 0 && writes {
			n.resize(0)
		}
		return n, nil
	case err == syscall.ENOENT && flag&os.O_CREATE != 0:
		dir, name, err := m.parent(path)
		if err != nil {
			return nil, err
		}
		n = &node{perm: perm.Perm()}
		m.change(nameChange{dir, name, n})
		return n, nil
	}
	return nil, err
}

// Rename implements FS.
func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.rename(from, to); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func (m *Mem) rename(from, to string) error {
	fromDir, fromName, err := m.parent(from)
	if err != nil {
		return err
	}
	toDir, toName, err := m.parent(to)
	if err != nil {
		return err
	}
	n, found := fromDir.names[fromName]
	old, exists := toDir.names[toName]
	switch {
	case !found:
		return syscall.ENOENT
	case exists && old.dir: // package os refuses this even if the directory is empty
		return syscall.EEXIST
	case n.dir && isBelow(split(to), split(from)):
		return syscall.EINVAL
	case exists && n.dir:
		return syscall.ENOTDIR
	case exists && old == n:
		return nil
	}
	m.change(nameChange{toDir, toName, n}, nameChange{fromDir, fromName, nil})
	return nil
}

func isBelow(path, above []string) bool {
	return len(path) >= len(above) && slices.Equal(path[:len(above)], above)
}

// Remove implements FS.
func (m *Mem) Remove(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, name, err := m.parent(path)
	if err == nil {
		n, ok := dir.names[name]
		switch {
		case !ok:
			err = syscall.ENOENT
		case n.dir && len(n.names) > 0:
			err = syscall.ENOTEMPTY
		}
	}
	if err != nil {
		return failed("remove", path, err)
	}
	m.change(nameChange{dir, name, nil})
	return nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(path string, perm fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.mu.root
	for _, name := range split(path) {
		next, ok := at.names[name]
		switch {
		case !ok:
			next = newDir(perm.Perm())
			m.change(nameChange{at, name, next})
		case !next.dir:
			return failed("mkdir", path, syscall.ENOTDIR)
		}
		at = next
	}
	return nil
}

// Stat implements FS.
func (m *Mem) Stat(path string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(split(path))
	if err != nil {
		return nil, failed("stat", path, err)
	}
	return n.info(filepath.Base(path)), nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(path string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(split(path))
	if err == nil && !n.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, failed("open", path, err)
	}
	list := make([]fs.DirEntry, 0, len(n.names))
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		list = append(list, fs.FileInfoToDirEntry(n.names[name].info(name)))
	}
	return list, nil
}

// ReadFile implements FS.
func (m *Mem) ReadFile(path string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(split(path))
	if err != nil {
		return nil, failed("open", path, err)
	}
	if n.dir {
		return nil, failed("read", path, syscall.EISDIR)
	}
	return append([]byte{}, n.data...), nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(split(path))
	if err == nil && !n.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return failed("open", path, err)
	}
	n.safeNames = maps.Clone(n.names)
	for i, changes := range m.mu.journal {
		m.mu.journal[i] = slices.DeleteFunc(changes, func(c nameChange) bool { return c.dir == n })
	}
	m.mu.journal = slices.DeleteFunc(m.mu.journal, func(changes []nameChange) bool { return len(changes) == 0 })
	return nil
}

// memLock is a lock on a file.
type memLock struct {
	fs   *Mem
	node *node
}

// Lock implements FS.
func (m *Mem) Lock(path string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.openNode(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err == nil && m.mu.locks[n] != nil {
		err = ErrLocked
	}
	if err != nil {
		return nil, failed("lock", path, err)
	}
	l := &memLock{m, n}
	m.mu.locks[n] = l
	return l, nil
}

// Close gives the lock up.
func (l *memLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.fs.mu.locks[l.node] != l {
		return fs.ErrClosed
	}
	delete(l.fs.mu.locks, l.node)
	return nil
}

// info describes a node at one moment.
func (n *node) info(name string) fs.FileInfo {
	mode := n.perm
	if n.dir {
		mode |= fs.ModeDir
	}
	return memInfo{name: name, size: int64(len(n.data)), mode: mode}
}

type memInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memInfo) Sys() any           { return nil }
