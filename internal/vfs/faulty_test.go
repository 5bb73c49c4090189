package vfs_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/covey-db/covey/internal/vfs"
)

func TestFaultsHitTheCallsTheyAreFor(t *testing.T) {
	broken := errors.New("broken")
	f := vfs.NewFaulty(vfs.NewMem())
	d := disk{f, "/"}
	f.Fail(vfs.Calls{Op: vfs.OpSync, Name: "*.aof", Skip: 1, Max: 2}, broken)
	f.Fail(vfs.Calls{Op: vfs.OpRename | vfs.OpSyncDir, Name: "nodes.conf"}, broken)
	a, err := f.Create("/x.aof")
	ok(t, err)
	b, err := f.Create("/x.rdb")
	ok(t, err)
	ok(t, b.Sync())
	ok(t, a.Sync())
	is(t, a.SyncData(), broken)
	ok(t, b.Sync())
	is(t, a.Sync(), broken)
	ok(t, a.Sync())
	is(t, f.Rename("/x.aof", "/nodes.conf"), broken)
	ok(t, f.Rename("/x.aof", "/y.aof"))
	is(t, vfs.WriteFileAtomic(f, "/nodes.conf", nil), broken)
	if n := f.Count(vfs.OpSync); n != 7 {
		t.Fatalf("%d syncs", n)
	}
	if n := f.Count(vfs.OpSync | vfs.OpRename); n != 10 {
		t.Fatalf("%d syncs and renames", n)
	}
	f.Heal()
	ok(t, vfs.WriteFileAtomic(f, "/nodes.conf", []byte("x")))
	d.want(t, "nodes.conf", "x")
}

func TestEveryCallCanFail(t *testing.T) {
	broken := errors.New("broken")
	f := vfs.NewFaulty(vfs.NewMem())
	file, err := f.Create("/f")
	ok(t, err)
	f.Fail(vfs.Calls{}, broken)
	_, errOpen := f.Open("/f")
	_, errCreate := f.Create("/f")
	_, errStat := f.Stat("/f")
	_, errReadDir := f.ReadDir("/")
	_, errReadFile := f.ReadFile("/f")
	_, errLock := f.Lock("/f")
	_, errRead := file.Read(make([]byte, 1))
	_, errReadAt := file.ReadAt(make([]byte, 1), 0)
	_, errWriteAt := file.WriteAt([]byte("1234"), 0)
	_, errSeek := file.Seek(0, 0)
	_, errFileStat := file.Stat()
	n, errWrite := file.Write([]byte("1234"))
	for _, err := range []error{
		errOpen, errCreate, errStat, errReadDir, errReadFile, errLock, errRead, errReadAt, errWrite, errWriteAt, errSeek, errFileStat,
		f.Rename("/f", "/g"), f.Remove("/f"), f.MkdirAll("/d", 0o755), f.SyncDir("/"), file.Truncate(0), file.Sync(), file.SyncData(), file.Close(),
	} {
		is(t, err, broken)
	}
	if n != 2 {
		t.Fatalf("the write that failed wrote %d bytes", n)
	}
}

func TestDiskFull(t *testing.T) {
	f := vfs.NewFaulty(vfs.NewMem())
	d := disk{f, "/"}
	d.write(t, "old", strings.Repeat("o", 50))
	f.LimitSpace(100)
	file, err := f.Create("/f")
	ok(t, err)
	_, err = file.Write(make([]byte, 70))
	ok(t, err)
	n, err := file.Write(make([]byte, 70))
	if n != 30 {
		t.Fatalf("wrote %d", n)
	}
	is(t, err, syscall.ENOSPC)
	is(t, vfs.WriteFileAtomic(f, "/g", []byte("x")), syscall.ENOSPC)
	ok(t, file.Truncate(90))
	ok(t, vfs.WriteFileAtomic(f, "/g", []byte("0123456789")))
	is(t, vfs.WriteFileAtomic(f, "/g", []byte("0123456789")), syscall.ENOSPC)
	d.want(t, "g", "0123456789")
	ok(t, f.Remove("/old"))
	ok(t, vfs.WriteFileAtomic(f, "/g", []byte(strings.Repeat("x", 50))))
	ok(t, f.Remove("/g"))
	d.write(t, "h", strings.Repeat("h", 60))
	d.write(t, "h", strings.Repeat("i", 60)) // what was in it is given back
	f.Heal()
	d.write(t, "k", strings.Repeat("k", 1000))
}

func TestSlowCallsWait(t *testing.T) {
	f := vfs.NewFaulty(vfs.NewMem())
	file, err := f.Create("/f")
	ok(t, err)
	entered, leave := make(chan struct{}), make(chan struct{})
	f.Slow(vfs.Calls{Op: vfs.OpSync}, func() {
		close(entered)
		<-leave
	})
	done := make(chan error)
	go func() { done <- file.Sync() }()
	<-entered
	_, err = f.Stat("/f") // others go on
	ok(t, err)
	close(leave)
	ok(t, <-done)
}
