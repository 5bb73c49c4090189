package journal

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/vfs"
)

const misconf = "-MISCONF Errors writing to the AOF file: "

// TestEverythingIsReplayed compares the data with what its own files give, with and without rewrites, in both forms.
func TestEverythingIsReplayed(t *testing.T) {
	for seed := range uint64(6) {
		r := newRig(t, vfs.NewMem()).start().run()
		r.j.SetTimestamps(seed%2 == 0)
		dice := rng(seed)
		for step := range 4 {
			r.c.change(dice, 300)
			if step > 0 {
				r.usePreamble(step != 2)
				r.rewrite()
				if got := r.info("aof_last_bgrewrite_status"); got != "ok" {
					t.Fatal(r.log.String())
				}
				r.c.change(dice, 100)
			}
			if err := r.j.Flush(); err != nil {
				t.Fatal(err)
			}
			want := r.digest()
			if _, got := reloaded(t, r.mem); got != want {
				t.Fatalf("seed %d step %d: %q, want %q", seed, step, got, want)
			}
			if incr := r.j.mu.manifest.Incr; strings.Contains(r.file(incr[len(incr)-1].Name), "PUBLISH") {
				t.Error("a message is in the file")
			}
		}
	}
}

// TestRewriteUnderWriters: the files that a rewrite leaves give the data, while clients go on changing it.
func TestRewriteUnderWriters(t *testing.T) {
	r := newRig(t, vfs.NewMem()).start().run()
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for n := range 3 {
		c := r.client()
		writers.Go(func() {
			for dice := rng(uint64(n)); ; c.change(dice, 20) {
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 6 {
		r.usePreamble(i%2 == 0)
		r.rewrite()
	}
	close(stop)
	writers.Wait()
	if err := r.j.Flush(); err != nil {
		t.Fatal(err)
	}
	want := r.digest()
	next, got := reloaded(t, r.mem)
	if got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	if names := r.names(); names != "appendonly.aof.7.base.aof appendonly.aof.7.incr.aof appendonly.aof.manifest" {
		t.Error(names)
	}
	next.c.Do("SET", "after", "1")
}

// TestNoAcknowledgedWriteIsLost pulls the plug at every call that reaches the disk, with appendfsync always: what was
// acknowledged is there afterwards.
func TestNoAcknowledgedWriteIsLost(t *testing.T) {
	for step := 0; ; step++ {
		mem := vfs.NewMem()
		r := newRig(t, mem).start()
		r.j.SetPolicy(Always)
		r.run()
		dark := make(chan struct{})
		dice := rng(uint64(step))
		r.disk.Slow(vfs.Calls{Skip: step, Max: 1}, func() {
			mem.CrashTorn(dice)
			r.disk.Fail(vfs.Calls{}, syscall.EIO)
			close(dark)
		})
		acked := 0
		for acked < 40 {
			r.c.Do("SET", "key:"+strconv.Itoa(acked), strings.Repeat("v", acked*10))
			if acked == 20 {
				go func() { _ = r.j.Rewrite() }()
			}
			if !r.c.durable(dark) {
				break
			}
			acked++
		}
		off := acked < 40
		if !off {
			r.await(func() bool { return !r.j.Rewriting() })
			mem.Crash()
		}
		next, _ := mended(t, mem)
		for i := range acked {
			if got := next.c.Do("STRLEN", "key:"+strconv.Itoa(i)); got != ":"+strconv.Itoa(i*10)+"\r\n" {
				t.Fatalf("step %d: write %d of %d is lost: %s\n%s\n%s", step, i, acked, got, next.names(), r.log.String())
			}
		}
		if !off {
			return // the clients were done before the plug was pulled
		}
	}
}

// TestPowerLossDuringRewrite: whatever call of a rewrite is the last, the files give what was on disk before.
func TestPowerLossDuringRewrite(t *testing.T) {
	for step := 0; ; step++ {
		mem := vfs.NewMem()
		r := newRig(t, mem).start()
		dice := rng(uint64(step))
		r.c.change(dice, 200)
		if err := r.j.Flush(); err != nil {
			t.Fatal(err)
		}
		want := r.digest()
		off := false
		r.disk.Slow(vfs.Calls{Skip: step, Max: 1}, func() {
			off = true
			mem.CrashTorn(dice)
			r.disk.Fail(vfs.Calls{}, syscall.EIO)
		})
		r.rewrite()
		if !off {
			mem.Crash()
		}
		if next, got := reloaded(t, mem); got != want {
			t.Fatalf("step %d: %s, want %s: %s", step, got, want, next.names())
		}
		if !off {
			return // the rewrite is shorter than this
		}
	}
}

// TestDiskFull: writes are refused while the disk is full, and nothing is lost or there twice afterwards.
func TestDiskFull(t *testing.T) {
	r := newRig(t, vfs.NewMem()).start()
	r.c.change(rng(1), 100)
	r.disk.LimitSpace(30)
	if got := r.c.Do("SET", "first", strings.Repeat("x", 100)); got != "+OK\r\n" {
		t.Fatal(got) // it was done before the disk was known to be full
	}
	for _, words := range [][]string{{"SET", "a", "1"}, {"PING"}, {"EVAL", "return redis.call('set','a','1')", "0"}} {
		if got := r.c.Do(words...); !strings.Contains(got, misconf[1:]+"No space left on device") {
			t.Fatal(words, got)
		}
	}
	if got := r.c.Do("GET", "first"); strings.HasPrefix(got, "-") || r.info("aof_last_write_status") != "err" {
		t.Fatal(got)
	}
	now := time.Now()
	r.j.step(now)
	r.disk.Heal()
	r.j.step(now.Add(retryWrite / 2))
	if r.info("aof_last_write_status") != "err" {
		t.Error("it is tried again at once")
	}
	r.j.step(now.Add(2 * retryWrite))
	if got := r.c.Do("SET", "a", "1"); got != "+OK\r\n" || r.info("aof_last_write_status") != "ok" {
		t.Fatal(got, r.log.String())
	}
	if err := r.j.Flush(); err != nil {
		t.Fatal(err)
	}
	want := r.digest()
	if _, got := reloaded(t, r.mem); got != want {
		t.Fatal(got, want)
	}
}

// TestAlwaysEndsTheNode: with appendfsync always a node that cannot write or sync must not go on, and does not acknowledge.
func TestAlwaysEndsTheNode(t *testing.T) {
	for name, op := range map[string]vfs.Op{"write": vfs.OpWrite, "sync": vfs.OpSync} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, vfs.NewMem()).start()
			r.j.SetPolicy(Always)
			r.run()
			r.c.Do("SET", "a", "1")
			if !r.c.durable(nil) {
				t.Fatal("not durable")
			}
			r.disk.Fail(vfs.Calls{Op: op}, syscall.EIO)
			r.c.Do("SET", "b", "1")
			if err := <-r.fatal; !strings.Contains(err.Error(), "'always'") || !r.e.Gate.Holds(r.c.Written()) {
				t.Fatal(err)
			}
		})
	}
}

// TestFailedSync: what could not be synced may be gone, so writes are refused until there is another base.
func TestFailedSync(t *testing.T) {
	r := newRig(t, vfs.NewMem()).start()
	r.c.change(rng(2), 100)
	r.disk.Fail(vfs.Calls{Op: vfs.OpSync, Max: 1}, syscall.EIO)
	r.j.step(time.Now())
	r.j.wg.Wait()
	if got := r.c.Do("SET", "a", "1"); got != misconf+"Input/output error\r\n" {
		t.Fatal(got)
	}
	r.j.periodic(time.Now())
	r.j.wg.Wait()
	if got := r.c.Do("SET", "a", "1"); got != "+OK\r\n" {
		t.Fatal(got, r.log.String())
	}
	if err := r.j.Flush(); err != nil {
		t.Fatal(err)
	}
	want := r.digest()
	r.mem.Crash()
	if _, got := reloaded(t, r.mem); got != want {
		t.Fatal(got, want)
	}
}

// TestFailedRewrites: whatever a disk refuses, the set of before goes on; the next rewrite is a good one.
func TestFailedRewrites(t *testing.T) {
	for step := 0; ; step++ {
		r := newRig(t, vfs.NewMem()).start()
		r.c.change(rng(uint64(step)), 200)
		r.disk.Fail(vfs.Calls{Skip: step, Max: 1}, syscall.ENOSPC)
		r.rewrite()
		failed := r.info("aof_last_bgrewrite_status") == "err"
		r.disk.Heal()
		r.j.step(time.Now().Add(time.Minute))
		r.j.wg.Wait()
		r.c.change(rng(uint64(step)+100), 50)
		if err := r.j.Flush(); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		want := r.digest()
		if next, got := reloaded(t, r.mem); got != want {
			t.Fatalf("step %d: %s, want %s: %s\n%s", step, got, want, next.names(), r.log.String())
		}
		r.rewrite()
		if r.info("aof_last_bgrewrite_status") != "ok" {
			t.Fatal(step, r.log.String())
		}
		if _, got := reloaded(t, r.mem); got != want {
			t.Fatalf("step %d after a good rewrite: %s, want %s", step, got, want)
		}
		if !failed && step > 40 {
			return // the rewrite is shorter than this
		}
	}
}

// TestSwitchedOnAndOff: CONFIG SET appendonly.
func TestSwitchedOnAndOff(t *testing.T) {
	r := newRig(t, vfs.NewMem()).run()
	r.c.change(rng(3), 100)
	if r.e.Log.On() || r.info("aof_enabled") != "0" {
		t.Error("it is on")
	}
	if err := r.j.Enable(); err != nil {
		t.Fatal(err)
	}
	r.await(func() bool { return r.j.get() == stateOn })
	r.c.change(rng(4), 100)
	r.j.Disable()
	want := r.digest()
	r.c.Do("SET", "not there", "1")
	if _, got := reloaded(t, r.mem); got != want {
		t.Fatal(got, want)
	}
	if err := r.j.Enable(); err != nil {
		t.Fatal(err)
	}
	r.await(func() bool { return r.j.get() == stateOn })
	if err := r.j.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, got := reloaded(t, r.mem); got != r.digest() {
		t.Fatal(got)
	}
	if names := r.names(); names != "appendonly.aof.2.base.rdb appendonly.aof.2.incr.aof appendonly.aof.manifest" {
		t.Error(names)
	}
	r.j.Suspend()
	r.j.Resume()
	r.await(func() bool { return r.j.get() == stateOn })
}

// TestEnableFails: where no file can be made the answer is an error, and nothing is on.
func TestEnableFails(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.disk.Fail(vfs.Calls{Op: vfs.OpOpen}, syscall.EACCES)
	if err := r.j.Enable(); err == nil || r.j.On() {
		t.Fatal(err)
	}
	r.disk.Heal()
	if err := r.j.Enable(); err != nil || !r.j.On() {
		t.Fatal(err)
	}
	r.j.wg.Wait()
}

// TestBeginsOnce: what time brings, and a client that asks, leave the file alone in which somebody begins to collect what happens.
func TestBeginsOnce(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.c.change(rng(5), 100)
	r.disk.Slow(vfs.Calls{Op: vfs.OpOpen, Name: "temp-*.incr", Max: 1}, func() { r.j.periodic(time.Now()) })
	if err := r.j.Enable(); err != nil {
		t.Fatal(err)
	}
	if err := r.j.Rewrite(); err != nil && !errors.Is(err, ErrRewriting) {
		t.Fatal(err)
	}
	r.c.change(rng(6), 100)
	r.j.wg.Wait()
	r.run()
	r.await(func() bool { return r.j.get() == stateOn })
	if err := r.j.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, got := reloaded(t, r.mem); got != r.digest() {
		t.Fatal(got)
	}
}

// TestLimit: after three failures the next rewrite waits a minute, then two.
func TestLimit(t *testing.T) {
	r := newRig(t, vfs.NewMem()).start()
	now := time.Now()
	fail := func() {
		r.disk.Fail(vfs.Calls{Op: vfs.OpOpen}, syscall.EACCES)
		r.rewrite()
		r.disk.Heal()
	}
	fail()
	fail()
	if r.j.limited(now) {
		t.Error("after two failures")
	}
	fail()
	if !r.j.limited(now) || !r.j.limited(now.Add(59*time.Second)) || r.j.limited(now.Add(61*time.Second)) {
		t.Error("the first wait is not a minute")
	}
	if !r.j.limited(now.Add(62*time.Second)) || !r.j.limited(now.Add(181*time.Second)) || r.j.limited(now.Add(183*time.Second)) {
		t.Error("the second wait is not two minutes")
	}
	r.rewrite()
	if r.j.limited(now) {
		t.Error("after a good one")
	}
}

// TestGrowth: the files are rewritten when they have grown as much as configuration says.
func TestGrowth(t *testing.T) {
	r := newRig(t, vfs.NewMem()).start()
	r.set.GrowPercent, r.set.GrowMin = 100, 1000
	r.c.Do("SET", "a", strings.Repeat("x", 800))
	if r.j.grown() {
		t.Error("below auto-aof-rewrite-min-size")
	}
	r.c.Do("SET", "a", strings.Repeat("y", 800))
	r.j.periodic(time.Now())
	r.j.wg.Wait()
	if r.info("aof_rewrites") != "1" || r.j.grown() {
		t.Error(r.log.String())
	}
}

// TestOldFileIsTakenOver: the single file of a Redis before 7.0 becomes the base, also when that was interrupted.
func TestOldFileIsTakenOver(t *testing.T) {
	for step := 0; ; step++ {
		mem := vfs.NewMem()
		r := newRig(t, mem)
		if err := vfs.WriteFileAtomic(mem, dataDir+"/appendonly.aof", []byte("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n")); err != nil {
			t.Fatal(err)
		}
		r.disk.Fail(vfs.Calls{Skip: step}, syscall.EIO)
		done := r.j.Load(context.Background()) == nil
		mem.Crash()
		next := newRig(t, mem).start()
		if got := next.c.Do("GET", "a"); got != "$1\r\n1\r\n" {
			t.Fatalf("step %d: %q %s", step, got, next.names())
		}
		if names := next.names(); names != "appendonly.aof appendonly.aof.1.incr.aof appendonly.aof.manifest" {
			t.Fatal(names)
		}
		if done {
			return
		}
	}
}

// TestHistory: files that are no longer needed are kept on demand, and removed when that ends.
func TestHistory(t *testing.T) {
	r := newRig(t, vfs.NewMem()).start()
	r.set.KeepHistory = true
	r.rewrite()
	r.rewrite()
	var got []string
	for _, f := range r.j.mu.manifest.History {
		got = append(got, f.Name)
	}
	if s := strings.Join(got, " "); s != "appendonly.aof.2.incr.aof appendonly.aof.2.base.rdb appendonly.aof.1.incr.aof appendonly.aof.1.base.rdb" {
		t.Error(s)
	}
	r.set.KeepHistory = false
	r.j.CollectHistory()
	if names := r.names(); names != "appendonly.aof.3.base.rdb appendonly.aof.3.incr.aof appendonly.aof.manifest" {
		t.Error(names)
	}
}

// TestDatabaseOfEachFile: a file selects the database of its first command, whatever the file before had selected.
func TestDatabaseOfEachFile(t *testing.T) {
	r := newRig(t, vfs.NewMem()).start()
	r.c.Do("SELECT", "3")
	r.c.Do("SET", "a", "1")
	r.rewrite()
	r.c.Do("SET", "b", "1")
	incr := r.j.mu.manifest.Incr[0]
	if got := r.file(incr.Name); got != "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$1\r\n1\r\n" {
		t.Errorf("%q", got)
	}
}

// TestWhoRepeats: a script chooses whether replicas, the append-only file or both repeat what it does.
func TestWhoRepeats(t *testing.T) {
	r := newRig(t, vfs.NewMem()).start()
	stream, err := r.e.Log.Reader(r.e.Log.End())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	r.c.Do("EVAL", `redis.call('set', 'a', 1)
		redis.set_repl(redis.REPL_NONE) redis.call('set', 'b', 2)
		redis.set_repl(redis.REPL_AOF) redis.call('set', 'c', 3) redis.call('select', 5) redis.call('set', 'c5', 3)
		redis.set_repl(redis.REPL_REPLICA) redis.call('set', 'd', 4) redis.call('publish', 'channel', 'm')
		redis.set_repl(redis.REPL_ALL) redis.call('set', 'e', 5) redis.call('publish', 'channel', 'm')`, "0")
	r.c.Do("EVAL", "redis.set_repl(redis.REPL_AOF) redis.call('set', 'f', 6) redis.call('publish', 'channel', 'm')", "0")
	var sent []byte
	for b := stream.Next(); b != nil; b = stream.Next() {
		sent = append(sent, b...)
	}
	if want := "MULTI SELECT 0 set a 1 PING SELECT 5 PING set d 4 publish channel m set e 5 publish channel m EXEC SELECT 0 PING"; unframed(sent) != want {
		t.Errorf("replicas get %s, want %s", unframed(sent), want)
	}
	if err := r.j.Flush(); err != nil {
		t.Fatal(err)
	}
	last := r.j.mu.manifest.Incr
	if got, want := unframed([]byte(r.file(last[len(last)-1].Name))), "MULTI SELECT 0 set a 1 set c 3 SELECT 5 set c5 3 set e 5 EXEC SELECT 0 set f 6"; got != want {
		t.Errorf("the file has %s, want %s", got, want)
	}
	r.rewrite() // no difference is left in the base
	want := r.digest()
	if _, got := reloaded(t, r.mem); got != want {
		t.Error("the files do not give the data")
	}
}

// unframed is a stream of commands without their frame.
func unframed(stream []byte) string {
	var out []string
	for _, line := range strings.Split(string(stream), "\r\n") {
		if line != "" && line[0] != '*' && line[0] != '$' {
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}
