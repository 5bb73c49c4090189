package tests

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// filesOf lists the names in the directory of a server, without its configuration and log.
func dataFilesOf(t testing.TB, s *testkit.Server) (names []string) {
	t.Helper()
	list, err := os.ReadDir(s.Dir)
	must(t, err)
	for _, e := range list {
		if strings.HasSuffix(e.Name(), ".rdb") {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestKilledWhileSaving kills a server in the middle of BGSAVE: the old file is whole, and the next start clears up.
func TestKilledWhileSaving(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	c := s.Dial(t)
	for i := range 100 {
		c.OK(t, "SET", "key:"+strconv.Itoa(i), "old")
	}
	c.Want(t, "+OK", "SAVE")
	for i := range 5000 {
		c.OK(t, "SET", "key:"+strconv.Itoa(i), "new")
	}
	c.OK(t, "CONFIG", "SET", "rdb-key-save-delay", "10000")
	c.OK(t, "BGSAVE")
	testkit.Eventually(t, testkit.Patience, func() error {
		if len(dataFilesOf(t, s)) != 2 {
			return os.ErrNotExist
		}
		return nil
	})
	s.Kill(t)
	if names := dataFilesOf(t, s); len(names) != 2 {
		t.Fatal(names)
	}
	s.Restart(t)
	s.Want(t, ":100", "DBSIZE")
	s.Want(t, `"old"`, "GET", "key:1")
	if names := dataFilesOf(t, s); len(names) != 1 || names[0] != "dump.rdb" {
		t.Fatal(names)
	}
}

// TestSavePointsAtWork: changes are saved by themselves, and SIGTERM saves the rest.
func TestSavePointsAtWork(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Conf: []string{"save 1 5"}})
	c := s.Dial(t)
	for i := range 5 {
		c.OK(t, "SET", "key:"+strconv.Itoa(i), "v")
	}
	testkit.Eventually(t, testkit.Patience, func() error {
		if len(dataFilesOf(t, s)) == 0 || s.InfoInt(t, "rdb_bgsave_in_progress") != 0 {
			return os.ErrNotExist
		}
		return nil
	})
	s.Kill(t)
	s.Restart(t)
	s.Want(t, ":5", "DBSIZE")
	s.OK(t, "SET", "one more", "v")
	if status := s.Stop(t); status != 0 {
		t.Fatal(status)
	}
	s.Restart(t)
	s.Want(t, ":6", "DBSIZE")
}

// TestNothingIsWrittenBesideTheLastSave: a write that is acknowledged while SIGTERM saves would be in no file.
func TestNothingIsWrittenBesideTheLastSave(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{Conf: []string{"save 3600 1", "enable-debug-command yes", "rdb-key-save-delay 10000"}}) // a second for the keys below
	c := s.Dial(t)
	c.OK(t, "DEBUG", "POPULATE", "100")
	s.Signal(t, syscall.SIGTERM)
	acknowledged := 0
	for {
		v, err := c.Try("SET", "n", strconv.Itoa(acknowledged+1))
		if err != nil {
			break // the node has ended
		}
		if v.Kind != reply.Error {
			acknowledged++
		}
	}
	if status := s.AwaitExit(t, testkit.Patience); status != 0 {
		t.Errorf("exit status %d", status)
	}
	s.Restart(t)
	v, err := strconv.Atoi(s.OK(t, "GET", "n").Plain())
	if err != nil && acknowledged > 0 || v < acknowledged {
		t.Errorf("%d were acknowledged, the file has %d", acknowledged, v)
	}
}

// TestFullDiskStopsWrites: a directory that is gone is a disk that refuses, to every user and file system alike.
func TestFullDiskStopsWrites(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Conf: []string{"save 3600 1", "enable-protected-configs yes", "dbfilename dump.rdb"}})
	c := s.Dial(t)
	gone := s.Path("gone")
	must(t, os.Mkdir(gone, 0o755))
	c.Want(t, "-ERR CONFIG SET failed (possibly related to argument 'dir') - No such file or directory", "CONFIG", "SET", "dir", gone+"/nosuch")
	c.Want(t, "-ERR CONFIG SET failed (possibly related to argument 'dir') - Not a directory", "CONFIG", "SET", "dir", s.Path("test.conf"))
	c.OK(t, "CONFIG", "SET", "dir", "gone") // relative to the directory of now
	must(t, os.Remove(gone))
	c.OK(t, "SET", "a", "1")
	c.OK(t, "BGSAVE")
	eventuallyReply(t, testkit.Patience, s, "-MISCONF...", "SET", "other", "2") // some of them come before the save fails
	if got := s.Info(t, "persistence")["rdb_last_bgsave_status"]; got != "err" {
		t.Error(got)
	}
	c.Want(t, `"1"`, "GET", "a")
	c.OK(t, "CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
	c.Want(t, "+OK", "SET", "a", "3")
	c.OK(t, "CONFIG", "SET", "stop-writes-on-bgsave-error", "yes")
	c.Want(t, "-MISCONF...", "SET", "a", "4")
	s.Signal(t, syscall.SIGTERM)
	s.AwaitLog(t, testkit.Patience, "can't exit")
	c.Want(t, `"3"`, "GET", "a")
	must(t, os.Mkdir(gone, 0o755))
	c.OK(t, "BGSAVE")
	eventuallyReply(t, testkit.Patience, s, "+OK", "SET", "a", "5")
}

// TestReloadUnderWrites: nothing that a client was told to be written is lost while DEBUG RELOAD replaces the data.
func TestReloadUnderWrites(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Conf: []string{"enable-debug-command yes"}})
	c, w := s.Dial(t), s.Dial(t)
	c.OK(t, "DEBUG", "POPULATE", "20000")
	stop, counted := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		defer func() { counted <- n }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			v, err := w.Try("INCR", "counter")
			if err != nil {
				return
			}
			if v.Kind == reply.Int {
				n++
			}
		}
	}()
	for range 20 {
		c.OK(t, "DEBUG", "RELOAD")
	}
	close(stop)
	c.Want(t, `"`+strconv.Itoa(<-counted)+`"`, "GET", "counter")
}

// TestReloadBesideReload: one DEBUG RELOAD does not save and replace what another one has loaded so far.
func TestReloadBesideReload(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Conf: []string{"enable-debug-command yes"}})
	c, other := s.Dial(t), s.Dial(t)
	c.Want(t, "+OK", "DEBUG", "POPULATE", "1000")
	c.Want(t, "+OK", "CONFIG", "SET", "key-load-delay", "10000000")
	must(t, c.Send("DEBUG", "RELOAD"))
	testkit.Eventually(t, testkit.Patience, func() error {
		if v := other.Do(t, "INFO", "persistence"); !strings.Contains(v.Text, "\nloading:1") || !strings.Contains(v.Text, "loading_start_time") {
			return fmt.Errorf("%v", v)
		}
		return nil
	})
	other.Want(t, "-ERR the data is being loaded", "DEBUG", "RELOAD")
	other.Want(t, "+OK", "CONFIG", "SET", "key-load-delay", "0")
	if v := c.Next(t); v.String() != "+OK" {
		t.Error(v)
	}
	c.Want(t, ":1000", "DBSIZE")
}

// TestSignalBesideAPausedCron: a signal waits while the cron is paused, and can be taken back.
func TestSignalBesideAPausedCron(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Conf: []string{"enable-debug-command yes"}})
	c := s.Dial(t)
	c.Want(t, "+OK", "DEBUG", "PAUSE-CRON", "1")
	s.Signal(t, syscall.SIGTERM)
	testkit.Eventually(t, testkit.Patience, func() error { // the signal may be on its way
		v, err := c.Try("SHUTDOWN", "ABORT")
		if err == nil && v.String() != "+OK" {
			err = fmt.Errorf("%v", v)
		}
		return err
	})
	s.AwaitLog(t, testkit.Patience, "Shutdown manually aborted")
	c.Want(t, "-ERR No shutdown in progress.", "SHUTDOWN", "ABORT")
	s.Signal(t, syscall.SIGTERM)
	c.Want(t, "+OK", "DEBUG", "PAUSE-CRON", "0")
	if status := s.AwaitExit(t, testkit.Patience); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// TestNoEndBeforeTheFirstBase: a node does not end while the first base of its append-only file is being written, because
// nothing else has the data.
func TestNoEndBeforeTheFirstBase(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	c := s.Dial(t)
	c.Want(t, "+OK", "SET", "k", "v")
	c.Want(t, "+OK", "CONFIG", "SET", "rdb-key-save-delay", "100000000")
	c.Want(t, "+OK", "CONFIG", "SET", "appendonly", "yes")
	s.Signal(t, syscall.SIGTERM)
	s.AwaitLog(t, testkit.Patience, "Writing initial AOF, can't exit")
	c.Want(t, "-ERR Errors trying to SHUTDOWN. Check logs.", "SHUTDOWN")
	must(t, c.Send("SHUTDOWN", "FORCE"))
	if status := s.AwaitExit(t, testkit.Patience); status != 0 {
		t.Errorf("exit status %d", status)
	}
	if log := s.Log(); !strings.Contains(log, "Writing initial AOF. Exit anyway") {
		t.Error(log)
	}
}

// TestFlushAllIsKept: where there are save points the data file is empty when FLUSHALL is answered, whatever becomes of the
// process, and also when a save of the old data was under way.
func TestFlushAllIsKept(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{Conf: []string{"save 3600 1", "enable-debug-command yes"}})
	c := s.Dial(t)
	for _, busy := range []bool{false, true} {
		c.OK(t, "DEBUG", "POPULATE", "1000")
		c.OK(t, "SAVE")
		c.OK(t, "SET", "changed", "1")
		if busy {
			c.OK(t, "CONFIG", "SET", "rdb-key-save-delay", "1000000")
			c.OK(t, "BGSAVE")
			c.OK(t, "CONFIG", "SET", "rdb-key-save-delay", "0")
		}
		c.Want(t, "+OK", "FLUSHALL")
		c.Want(t, `has("rdb_changes_since_last_save:0")`, "INFO", "persistence")
		s.Kill(t)
		s.Restart(t)
		c = s.Dial(t)
		c.Want(t, ":0", "DBSIZE")
	}
	c.Want(t, "+OK", "MULTI")
	c.Want(t, "+QUEUED", "FLUSHALL")
	c.Want(t, "[+OK]", "EXEC")
}

// TestTooLateToAbort: who aborts a shutdown that saves already is told that it goes on.
func TestTooLateToAbort(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Conf: []string{"enable-debug-command yes", "save 3600 1"}})
	c, other := s.Dial(t), s.Dial(t)
	c.Want(t, "+OK", "DEBUG", "POPULATE", "1000")
	c.Want(t, "+OK", "CONFIG", "SET", "rdb-key-save-delay", "10000000")
	must(t, c.Send("SHUTDOWN"))
	s.AwaitLog(t, testkit.Patience, "Saving the final RDB snapshot")
	other.Want(t, "-ERR No shutdown in progress.", "SHUTDOWN", "ABORT")
	other.Want(t, "+OK", "CONFIG", "SET", "rdb-key-save-delay", "0")
	if status := s.AwaitExit(t, testkit.Patience); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// TestShutdownBesideSave: a node ends also when a client waits for SAVE.
func TestShutdownBesideSave(t *testing.T) {
	s := testkit.Start(t, testkit.Options{Conf: []string{"enable-debug-command yes", "save 3600 1"}})
	c, other := s.Dial(t), s.Dial(t)
	c.Want(t, "+OK", "DEBUG", "POPULATE", "1000")
	c.Want(t, "+OK", "CONFIG", "SET", "rdb-key-save-delay", "10000000")
	must(t, c.Send("SAVE"))
	testkit.Eventually(t, testkit.Patience, func() error {
		if v := other.Do(t, "INFO", "persistence"); !strings.Contains(v.Text, "rdb_bgsave_in_progress:1") {
			return fmt.Errorf("%v", v)
		}
		return nil
	})
	must(t, other.Send("SHUTDOWN"))
	s.AwaitLog(t, testkit.Patience, "Saving the final RDB snapshot")
	s.Dial(t).Want(t, "+OK", "CONFIG", "SET", "rdb-key-save-delay", "0")
	if status := s.AwaitExit(t, testkit.Patience); status != 0 {
		t.Errorf("exit status %d: %s", status, s.Log())
	}
}
