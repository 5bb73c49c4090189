package persist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/testkit/inproc"
	"github.com/covey-db/covey/internal/vfs"
)

const (
	dataDir  = "/data"
	dataFile = "/data/dump.rdb"
)

// rig is an engine with a Saver on files in memory that can fail.
type rig struct {
	t    *testing.T
	e    *engine.Engine
	s    *Saver
	set  Settings
	mem  *vfs.Mem
	disk *vfs.Faulty
	log  bytes.Buffer
	c    *inproc.Client
}

func newRig(t *testing.T, mem *vfs.Mem) *rig {
	t.Helper()
	if err := vfs.MakeDirSafe(mem, dataDir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, e: inproc.New(t, inproc.Options{}), mem: mem, disk: vfs.NewFaulty(mem)}
	r.set = Settings{Dir: dataDir, File: "dump.rdb", Compress: true, StopOnError: true, Points: []SavePoint{{After: time.Hour, Changes: 1}}}
	r.s = New(Options{Engine: r.e, Taker: snapshot.NewTaker(r.e), Settings: func() Settings { return r.set }, FS: r.disk,
		Log: slog.New(slog.NewTextHandler(&r.log, nil))})
	r.c = inproc.NewClient(r.e)
	t.Cleanup(r.s.Stop)
	return r
}

func (r *rig) fill(first, n int) {
	r.t.Helper()
	for i := first; i < first+n; i++ {
		if got := r.c.Do("SET", "key:"+strconv.Itoa(i), fmt.Sprintf("value %d %x", i, rand.Uint64())); got != "+OK\r\n" {
			r.t.Fatal(got)
		}
	}
}

// bgsave runs a background save to its end.
func (r *rig) bgsave() {
	r.t.Helper()
	if err := r.s.BgSave(false); err != nil {
		r.t.Fatal(err)
	}
	r.s.wg.Wait()
}

// info is a field of INFO persistence.
func (r *rig) info(name string) string {
	for _, f := range r.s.Info() {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}

// file is the data file, "" if there is none.
func (r *rig) file() string {
	b, err := r.mem.ReadFile(dataFile)
	if err != nil {
		return ""
	}
	return string(b)
}

// wantOnlyFile makes sure that nothing but the data file lies in the directory.
func (r *rig) wantOnlyFile() {
	r.t.Helper()
	list, err := r.mem.ReadDir(dataDir)
	if err != nil || len(list) != 1 || list[0].Name() != "dump.rdb" {
		r.t.Fatal(list, err)
	}
}

// keysOf is how many keys a data file has; a damaged one ends the test.
func keysOf(t *testing.T, mem *vfs.Mem) int {
	t.Helper()
	r := newRig(t, mem)
	loaded, err := r.s.Load(LoadOptions{Context: context.Background()})
	if err != nil {
		t.Fatal(err)
	}
	return int(loaded.Keys)
}

const misconf = "-MISCONF "

// TestFailedSaves walks through what a disk can refuse: the old file stays, writes are refused, the next good save heals.
func TestFailedSaves(t *testing.T) {
	for name, fail := range map[string]func(*vfs.Faulty){
		"disk full":   func(d *vfs.Faulty) { d.LimitSpace(20_000) },
		"no space":    func(d *vfs.Faulty) { d.LimitSpace(0) },
		"create":      func(d *vfs.Faulty) { d.Fail(vfs.Calls{Op: vfs.OpOpen}, syscall.EACCES) },
		"write":       func(d *vfs.Faulty) { d.Fail(vfs.Calls{Op: vfs.OpWrite}, syscall.EIO) },
		"fsync":       func(d *vfs.Faulty) { d.Fail(vfs.Calls{Op: vfs.OpSync}, syscall.EIO) },
		"close":       func(d *vfs.Faulty) { d.Fail(vfs.Calls{Op: vfs.OpClose}, syscall.EDQUOT) },
		"rename":      func(d *vfs.Faulty) { d.Fail(vfs.Calls{Op: vfs.OpRename}, syscall.EROFS) },
		"fsync often": func(d *vfs.Faulty) { d.Fail(vfs.Calls{Op: vfs.OpSync, Max: 1}, syscall.EIO) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, vfs.NewMem())
			r.set.SyncOften = true
			r.fill(0, 100)
			r.bgsave()
			before := r.file()
			r.fill(100, 2000)
			fail(r.disk)
			r.bgsave()
			if r.file() != before {
				t.Fatal("the old file is not what it was")
			}
			r.wantOnlyFile()
			if got := r.info("rdb_last_bgsave_status"); got != "err" {
				t.Fatal(got)
			}
			if got := r.c.Do("SET", "a", "1"); !strings.HasPrefix(got, misconf) {
				t.Fatal(got)
			}
			if got := r.c.Do("GET", "key:1"); strings.HasPrefix(got, "-") {
				t.Fatal(got)
			}
			if got := r.info("rdb_changes_since_last_save"); got != "2000" {
				t.Fatal(got)
			}
			r.disk.Heal()
			r.bgsave()
			if got := r.info("rdb_last_bgsave_status"); got != "ok" {
				t.Fatal(got)
			}
			r.fill(2100, 1)
			if got := keysOf(t, r.mem); got != 2100 {
				t.Fatal(got)
			}
		})
	}
}

// TestWritesAreRefusedByRule: only where a user relies on save points, and wants to be stopped.
func TestWritesAreRefusedByRule(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	refused := func(want bool, why string) {
		t.Helper()
		r.s.Review()
		if got := strings.HasPrefix(r.c.Do("SET", "a", "1"), misconf); got != want {
			t.Errorf("%s: refused %v", why, got)
		}
	}
	r.disk.LimitSpace(0)
	if err := r.s.Save(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	refused(false, "whoever calls SAVE is told")
	r.bgsave()
	refused(true, "a save in the background failed")
	r.set.StopOnError = false
	refused(false, "stop-writes-on-bgsave-error no")
	r.set.StopOnError = true
	points := r.set.Points
	r.set.Points = nil
	refused(false, "no save points")
	r.set.Points = points
	refused(true, "as before")
	r.disk.Heal()
	if err := r.s.Save(); err != nil {
		t.Fatal(err)
	}
	refused(false, "SAVE went well")
}

// TestPowerLoss pulls the plug at every call of a save: what is on disk then is the old file or the new one, whole.
func TestPowerLoss(t *testing.T) {
	errDark := errors.New("no power")
	for step := 0; ; step++ {
		mem := vfs.NewMem()
		r := newRig(t, mem)
		r.fill(0, 300)
		r.bgsave()
		r.fill(300, 400)
		off := false
		rng := rand.New(rand.NewPCG(1, uint64(step)))
		r.disk.Slow(vfs.Calls{Skip: step, Max: 1}, func() {
			off = true
			mem.CrashTorn(rng)
			r.disk.Fail(vfs.Calls{}, errDark)
		})
		r.bgsave()
		saved := r.info("rdb_last_bgsave_status") == "ok"
		if !off {
			mem.Crash()
		}
		n := keysOf(t, mem)
		if n != 300 && n != 700 || saved && n != 700 {
			t.Fatalf("step %d: %d keys, saved %v", step, n, saved)
		}
		if !off {
			return // the save is shorter than this
		}
	}
}

func TestSavePoints(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.set.Points = []SavePoint{{After: 900 * time.Second, Changes: 1}, {After: 60 * time.Second, Changes: 10}}
	start := r.s.LastSave()
	due := func(after time.Duration) bool { return r.s.due(start.Add(after)) }
	if due(time.Hour) {
		t.Error("nothing has changed")
	}
	r.fill(0, 1)
	if due(900*time.Second) || !due(901*time.Second) {
		t.Error("the first point")
	}
	r.fill(1, 9)
	if due(60*time.Second) || !due(61*time.Second) {
		t.Error("the second point")
	}
	r.e.SetLoading(true)
	if due(time.Hour) {
		t.Error("half of a data set that is being loaded would be saved")
	}
	r.e.SetLoading(false)
	r.disk.LimitSpace(0)
	r.bgsave()
	tried := r.s.mu.lastTry
	if r.s.due(tried.Add(retryAfter - 1)) {
		t.Error("a failed save is tried again at once")
	}
	if !r.s.due(tried.Add(time.Hour)) {
		t.Error("a failed save is never tried again")
	}
	r.disk.Heal()
	r.bgsave()
	if due(100 * time.Hour) {
		t.Error("everything is saved")
	}
	r.set.Points = nil
	r.fill(10, 100)
	if due(100 * time.Hour) {
		t.Error("there are no points")
	}
}

// TestDeathDuringSave: the process dies in the middle; the next one finds the old file and clears up.
func TestDeathDuringSave(t *testing.T) {
	mem := vfs.NewMem()
	r := newRig(t, mem)
	r.fill(0, 100)
	r.bgsave()
	r.disk.Fail(vfs.Calls{Op: vfs.OpWrite}, syscall.EIO)
	r.disk.Fail(vfs.Calls{Op: vfs.OpRemove}, syscall.EIO)
	r.bgsave()
	other := dataDir + "/temp-save-1-other.rdb"
	if err := vfs.WriteFileAtomic(mem, other, []byte("of another node")); err != nil {
		t.Fatal(err)
	}
	if list, _ := mem.ReadDir(dataDir); len(list) != 3 {
		t.Fatal(list)
	}
	next := newRig(t, mem)
	next.s.Sweep()
	if _, err := mem.Stat(other); err != nil {
		t.Fatal(err)
	}
	if err := mem.Remove(other); err != nil {
		t.Fatal(err)
	}
	next.wantOnlyFile()
	if got := keysOf(t, mem); got != 100 {
		t.Fatal(got)
	}
}

// TestStopBreaksOff: a save that is broken off is no failure.
func TestStopBreaksOff(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.fill(0, 100)
	r.bgsave()
	before := r.file()
	r.fill(100, 100)
	r.disk.Slow(vfs.Calls{Op: vfs.OpOpen, Max: 1}, func() {
		r.s.mu.Lock()
		r.s.mu.cancel()
		r.s.mu.Unlock()
	})
	r.bgsave()
	if got := r.info("rdb_last_bgsave_status"); got != "ok" || r.file() != before {
		t.Fatal(got)
	}
	r.wantOnlyFile()
	r.fill(200, 1)
}

// TestFlushedBreaksOff: after FLUSHALL the file is that of the empty data set, also when a save was under way.
func TestFlushedBreaksOff(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.fill(0, 100)
	r.disk.Slow(vfs.Calls{Op: vfs.OpOpen, Max: 1}, func() {
		r.c.Do("FLUSHALL")
		r.s.Flushed()
	})
	r.bgsave()
	if got := keysOf(t, r.mem); got != 0 {
		t.Fatal(got)
	}
	r.fill(0, 10)
	r.bgsave()
	r.c.Do("FLUSHALL")
	r.s.Flushed()
	r.s.wg.Wait()
	if got := keysOf(t, r.mem); got != 0 {
		t.Fatal(got)
	}
}

func TestDamagedFileIsNamed(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.fill(0, 100)
	r.bgsave()
	whole := r.file()
	for name, content := range map[string]string{
		"cut":           whole[:len(whole)/2],
		"empty":         "",
		"checksum":      whole[:len(whole)-1] + string([]byte{whole[len(whole)-1] ^ 1}),
		"no such type":  whole[:9] + "\xf0",
		"wrong magic":   "RIDES" + whole[5:],
		"of the future": "REDIS9999" + whole[9:],
	} {
		if err := vfs.WriteFileAtomic(r.mem, dataFile, []byte(content)); err != nil {
			t.Fatal(err)
		}
		_, err := newRig(t, r.mem).s.Load(LoadOptions{Context: context.Background()})
		if err == nil || !strings.Contains(err.Error(), dataFile) || !strings.Contains(err.Error(), "offset ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.disk.Fail(vfs.Calls{Op: vfs.OpRead, Skip: 1}, syscall.EIO)
	if err := vfs.WriteFileAtomic(r.mem, dataFile, append([]byte(whole), make([]byte, 2<<20)...)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.s.LoadInto(true); err != nil && !errors.Is(err, syscall.EIO) && !strings.Contains(err.Error(), "offset ") {
		t.Error(err)
	}
}

func TestMissingFileIsAnEmptyDataSet(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	loaded, err := r.s.Load(LoadOptions{Context: context.Background()})
	if err != nil || loaded.Keys != 0 || loaded.Offset != -1 {
		t.Fatal(loaded, err)
	}
	r.disk.Fail(vfs.Calls{Op: vfs.OpOpen}, syscall.EACCES)
	if _, err := r.s.Load(LoadOptions{Context: context.Background()}); !errors.Is(err, syscall.EACCES) {
		t.Fatal(err)
	}
}

func TestIncrementalSync(t *testing.T) {
	mem := vfs.NewMem()
	disk := vfs.NewFaulty(mem)
	f, err := disk.Create("/f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyBuffer(&syncer{File: f}, io.LimitReader(zeros{}, 3*syncEvery), make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	if got := disk.Count(vfs.OpSync); got != 3 {
		t.Fatal(got)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestInfoFields(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.fill(0, 3)
	r.bgsave()
	next := newRig(t, r.mem)
	if _, err := next.s.Load(LoadOptions{Context: context.Background()}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range next.s.Info() {
		got[f[0]] = f[1]
	}
	want := map[string]string{"loading": "0", "rdb_last_load_keys_loaded": "3", "rdb_last_load_keys_expired": "0", "rdb_saves": "0"}
	for name := range maps.Keys(want) {
		if got[name] != want[name] {
			t.Errorf("%s is %s", name, got[name])
		}
	}
	next.e.SetLoading(true)
	defer next.e.SetLoading(false)
	if next.info("loading_loaded_perc") != "100.00" || next.info("loading_total_bytes") != next.info("loading_loaded_bytes") {
		t.Error(next.s.Info())
	}
}

// TestLastSave: the save before the end breaks off what is under way, also the SAVE of a client, which nobody waits for.
func TestLastSave(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.fill(0, 100)
	saving, goOn, client := make(chan struct{}), make(chan struct{}), make(chan error)
	r.disk.Slow(vfs.Calls{Op: vfs.OpOpen, Max: 1}, func() { close(saving); <-goOn })
	go func() { client <- r.s.Save() }()
	<-saving
	r.fill(100, 100)
	r.s.mu.Lock()
	breakOff := r.s.mu.cancel
	r.s.mu.cancel = sync.OnceFunc(func() { breakOff(); close(goOn) })
	r.s.mu.Unlock()
	if err := r.s.SaveLast(false); err != nil {
		t.Fatal(err)
	}
	if <-client == nil {
		t.Error("the save of the client went on")
	}
	if n := keysOf(t, r.mem); n != 200 {
		t.Error(n, "keys")
	}
}

// TestNothingIsSavedWhileLoading: a save that has begun before a load leaves the file alone.
func TestNothingIsSavedWhileLoading(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.fill(0, 100)
	r.bgsave()
	before := r.file()
	r.disk.Slow(vfs.Calls{Op: vfs.OpOpen, Max: 1}, func() {
		r.e.LockAll()
		r.e.SetLoading(true)
		r.e.EmptyAll()
		r.e.UnlockAll()
	})
	r.bgsave()
	r.e.SetLoading(false)
	if r.file() != before {
		t.Error("the file has no data any more")
	}
	if got := r.info("rdb_last_bgsave_status"); got != "ok" {
		t.Error(got)
	}
	r.wantOnlyFile()
}
