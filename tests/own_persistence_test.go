package tests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

const (
	aofDir   = "appendonlydir/"
	manifest = aofDir + "appendonly.aof.manifest"
)

// record is one command as an append file holds it.
func record(args ...string) string { return string(testkit.AppendCommand(nil, args...)) }

// incrName is the name of an incremental file.
func incrName(seq int) string { return fmt.Sprintf("appendonly.aof.%d.incr.aof", seq) }

// withAOF are the options of a server that loads one incremental file.
func withAOF(content string, conf ...string) testkit.Options {
	return testkit.Options{
		Conf:  append([]string{"appendonly yes"}, conf...),
		Files: map[string]string{manifest: "file " + incrName(1) + " seq 1 type i\n", aofDir + incrName(1): content},
	}
}

func sixRecords() (records []string) {
	for i := range 6 {
		records = append(records, record("SET", fmt.Sprint("k", i), strings.Repeat("v", i)))
	}
	return records
}

func TestCase_c095_EndsInsideATransaction(t *testing.T) {
	own(t, "c095", func(t testing.TB) {
		exec := record("EXEC")
		s := testkit.Start(t, withAOF(record("SELECT", "0")+record("SET", "foo", "hello")+record("MULTI")+
			record("SET", "bar", "world")+exec[:len(exec)/2], "aof-load-truncated yes"))
		s.Want(t, "+OK", "SET", "x", "1")
		s.Kill(t)
		s.Restart(t)
		s.Want(t, `["hello" "1" nil]`, "MGET", "foo", "x", "bar")
	})
}

func TestCase_e250_CutAtEveryRecordBorder(t *testing.T) {
	own(t, "e250", func(t testing.TB) {
		records := sixRecords()
		for n := range len(records) + 1 {
			s := testkit.Start(t, withAOF(strings.Join(records[:n], ""), "aof-load-truncated no"))
			s.Want(t, fmt.Sprintf(":%d", n), "DBSIZE")
			if n > 0 {
				s.Want(t, `"`+strings.Repeat("v", n-1)+`"`, "GET", fmt.Sprint("k", n-1))
			}
		}
	})
}

func TestCase_e251_CutInsideTheLastRecord(t *testing.T) {
	own(t, "e251", func(t testing.TB) {
		records := sixRecords()
		last := records[5]
		for i := range 8 {
			cut := 1 + i*(len(last)-2)/7
			s := testkit.Start(t, withAOF(strings.Join(records[:5], "")+last[:cut], "aof-load-truncated yes"))
			s.Want(t, ":5", "DBSIZE")
			s.Want(t, "+OK", "SET", "new", "v")
			s.Kill(t)
			s.Restart(t)
			s.Want(t, ":6", "DBSIZE")
			s.Want(t, `"v"`, "GET", "new")
		}
	})
}

func TestCase_c096_ZeroBytesAtTheEnd(t *testing.T) {
	own(t, "c096", func(t testing.TB) {
		s := testkit.NewServer(t, withAOF(strings.Join(sixRecords(), "")+strings.Repeat("\x00", 100), "aof-load-truncated yes"))
		endsCleanlyOrStarts(t, s, func() { s.Want(t, ":6", "DBSIZE") })
	})
}

// refusesAOF starts a server on a damaged set of append files: it must end cleanly, with a message.
func refusesAOF(t testing.TB, files map[string]string) {
	t.Helper()
	o := testkit.Options{Conf: []string{"appendonly yes", "aof-load-truncated yes"}, Files: map[string]string{}}
	for name, content := range files {
		o.Files[aofDir+name] = content
	}
	s := testkit.Launch(t, o)
	if status := s.AwaitExit(t, testkit.Patience); status <= 0 || strings.TrimSpace(s.Log()) == "" {
		t.Errorf("exit status %d", status)
	}
	checkNoTrace(t, s)
}

const manifestName = "appendonly.aof.manifest"

func TestCase_c098_CutFileThatIsNotTheLast(t *testing.T) {
	own(t, "c098", func(t testing.TB) {
		records := sixRecords()
		refusesAOF(t, map[string]string{
			manifestName: "file " + incrName(1) + " seq 1 type i\nfile " + incrName(2) + " seq 2 type i\n",
			incrName(1):  records[0] + records[1][:10],
			incrName(2):  records[2],
		})
	})
}

func TestCase_e253_SeveralIncrementalFiles(t *testing.T) {
	own(t, "e253", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Conf: []string{"appendonly yes"}, Files: map[string]string{
			manifest: "file appendonly.aof.1.base.aof seq 1 type b\nfile " + incrName(1) + " seq 1 type i\n" +
				"file " + incrName(2) + " seq 2 type i\nfile " + incrName(3) + " seq 3 type i\n",
			aofDir + "appendonly.aof.1.base.aof": record("SET", "a", "1") + record("SET", "b", "x"),
			aofDir + incrName(1):                 record("INCRBY", "a", "10") + record("APPEND", "b", "y"),
			aofDir + incrName(2):                 record("APPEND", "a", "0") + record("APPEND", "b", "z"),
			aofDir + incrName(3):                 record("INCRBY", "a", "5") + record("RENAME", "b", "c"),
		}})
		s.Want(t, `["115" nil "xyz"]`, "MGET", "a", "b", "c")
	})
}

func TestCase_e254_MissingFile(t *testing.T) {
	own(t, "e254", func(t testing.TB) {
		refusesAOF(t, map[string]string{
			manifestName: "file " + incrName(1) + " seq 1 type i\nfile " + incrName(2) + " seq 2 type i\n",
			incrName(1):  record("SET", "a", "1"),
		})
	})
}

func TestCase_e256_CutManifestLine(t *testing.T) {
	own(t, "e256", func(t testing.TB) {
		refusesAOF(t, map[string]string{manifestName: "file " + incrName(1) + " seq", incrName(1): record("SET", "a", "1")})
	})
}

func TestCase_e257_TwoBaseFiles(t *testing.T) {
	own(t, "e257", func(t testing.TB) {
		refusesAOF(t, map[string]string{
			manifestName:                "file appendonly.aof.1.base.aof seq 1 type b\nfile appendonly.aof.2.base.aof seq 2 type b\n",
			"appendonly.aof.1.base.aof": record("SET", "a", "1"),
			"appendonly.aof.2.base.aof": record("SET", "a", "2"),
		})
	})
}

func TestCase_e259_PathInTheManifest(t *testing.T) {
	own(t, "e259", func(t testing.TB) {
		refusesAOF(t, map[string]string{
			manifestName:        "file ../" + incrName(1) + " seq 1 type i\n",
			"../" + incrName(1): record("SET", "a", "1"),
		})
	})
}

func TestCase_e25a_UnknownFileType(t *testing.T) {
	own(t, "e25a", func(t testing.TB) {
		refusesAOF(t, map[string]string{manifestName: "file " + incrName(1) + " seq 1 type x\n", incrName(1): record("SET", "a", "1")})
	})
}

func TestCase_e25c_GarbageInTheMiddle(t *testing.T) {
	own(t, "e25c", func(t testing.TB) {
		refusesAOF(t, map[string]string{
			manifestName: "file " + incrName(1) + " seq 1 type i\n",
			incrName(1):  record("SET", "a", "1") + "what is this?\r\n" + record("SET", "b", "1"),
		})
	})
}

func TestCase_e25d_UnknownCommand(t *testing.T) {
	own(t, "e25d", func(t testing.TB) {
		refusesAOF(t, map[string]string{
			manifestName: "file " + incrName(1) + " seq 1 type i\n",
			incrName(1):  record("SET", "a", "1") + record("NOSUCH", "b") + record("SET", "b", "1"),
		})
	})
}

func TestCase_e25f_CutBaseFile(t *testing.T) {
	own(t, "e25f", func(t testing.TB) {
		base := rdbFile(9, rdbSelect0, rdbString, rdbText("k"), rdbText("a value that is cut"))
		refusesAOF(t, map[string]string{
			manifestName:                "file appendonly.aof.1.base.rdb seq 1 type b\nfile " + incrName(1) + " seq 1 type i\n",
			"appendonly.aof.1.base.rdb": base[:len(base)-20],
			incrName(1):                 record("SET", "a", "1"),
		})
	})
}

func TestCase_c105_LoadingIgnoresACL(t *testing.T) {
	own(t, "c105", func(t testing.TB) {
		s := testkit.Start(t, withAOF(
			record("SET", "a", "1")+record("MULTI")+record("SET", "b", "2")+record("INCR", "b")+record("EXEC"),
			"user default on nopass ~x* &* +@all -set -multi", "user admin on nopass ~* &* +@all"))
		c := s.Dial(t)
		c.Want(t, "-NOPERM...", "SET", "x", "1")
		c.Want(t, "+OK", "AUTH", "admin", "any")
		c.Want(t, `["1" "3"]`, "MGET", "a", "b")
	})
}

func TestCase_e25g_NoAcknowledgedWriteIsLost(t *testing.T) {
	own(t, "e25g", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Conf: []string{"appendonly yes", "appendfsync always"}})
		c := s.Dial(t)
		for i := range 50 {
			n := fmt.Sprint(i)
			c.OK(t, "SET", "k"+n, n)
			c.OK(t, "INCR", "counter")
			c.OK(t, "APPEND", "text", n+",")
			c.OK(t, "RPUSH", "list", n)
			c.OK(t, "HSET", "hash", "f"+n, n)
			if i%10 == 9 {
				c.OK(t, "DEL", "k"+n)
			}
		}
		before := contents(t, c)
		s.Kill(t)
		s.Restart(t)
		must(t, same(contents(t, s.Dial(t)), before))
	})
}

func TestCase_e25h_EveryTypeSurvivesSave(t *testing.T) {
	own(t, "e25h", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{})
		c := s.Dial(t)
		fillAllTypes(t, c, "")
		c.Want(t, "+OK", "SELECT", "3")
		c.Want(t, "+OK", "SET", "other database", "v")
		c.Want(t, "+OK", "SELECT", "0")
		before := contents(t, c)
		c.Want(t, "+OK", "SAVE")
		s.Kill(t)
		s.Restart(t)
		c = s.Dial(t)
		must(t, same(contents(t, c), before))
		c.Want(t, "+OK", "SELECT", "3")
		c.Want(t, `"v"`, "GET", "other database")
	})
}

func TestCase_e25i_EveryTypeSurvivesTheAppendFile(t *testing.T) {
	own(t, "e25i", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Conf: []string{"appendonly yes"}})
		c := s.Dial(t)
		fillAllTypes(t, c, "")
		before := contents(t, c)
		for _, preamble := range []string{"", "yes", "no"} {
			if preamble != "" { // rewrite first: the base is an RDB file or commands
				c.Want(t, "+OK", "CONFIG", "SET", "aof-use-rdb-preamble", preamble)
				c.Want(t, "+Background<*>", "BGREWRITEAOF")
				eventuallyReply(t, testkit.Patience, s, `has("aof_rewrite_in_progress:0" "aof_rewrite_scheduled:0" "aof_last_bgrewrite_status:ok")`, "INFO", "persistence")
			}
			c.Want(t, "+OK", "SET", "after rewrite", preamble)
			before["after rewrite"] = content(t, c, "string", "after rewrite")
			before["after rewrite"] = "string :-1 " + before["after rewrite"]
			s.Kill(t)
			s.Restart(t)
			c = s.Dial(t)
			must(t, same(contents(t, c), before))
		}
	})
}

func TestCase_c092_FlushOfAnEmptyDatabaseIsLogged(t *testing.T) {
	own(t, "c092", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Conf: []string{"appendonly yes", "appendfsync always"}})
		s.Want(t, "+OK", "FLUSHDB")
		s.Want(t, "+OK", "FLUSHALL")
		log := strings.ToUpper(s.ReadFile(t, aofDir+incrName(1)))
		if !strings.Contains(log, "FLUSHDB") || !strings.Contains(log, "FLUSHALL") {
			t.Errorf("the append file holds %q", log)
		}
	})
}

// refusesRDB starts a server on a damaged dump: it must end cleanly, with a message.
func refusesRDB(t testing.TB, file string) {
	t.Helper()
	s := testkit.Launch(t, testkit.Options{Files: map[string]string{"dump.rdb": file}})
	if status := s.AwaitExit(t, testkit.Patience); status <= 0 || strings.TrimSpace(s.Log()) == "" {
		t.Errorf("exit status %d", status)
	}
	checkNoTrace(t, s)
}

func TestCase_c103_SameKeyTwice(t *testing.T) {
	own(t, "c103", func(t testing.TB) {
		one := rdbString + rdbText("k") + rdbText("v")
		refusesRDB(t, rdbFile(9, rdbSelect0, one, one))
	})
}

func TestCase_e260_WrongMagic(t *testing.T) {
	own(t, "e260", func(t testing.TB) {
		refusesRDB(t, strings.Replace(rdbFile(9, rdbSelect0, rdbString, rdbText("k"), rdbText("v")), "REDIS", "RADIS", 1))
	})
}

func TestCase_e261_VersionOfTheFuture(t *testing.T) {
	own(t, "e261", func(t testing.TB) {
		refusesRDB(t, rdbFile(9999, rdbSelect0, rdbString, rdbText("k"), rdbText("v")))
	})
}

func TestCase_e262_WrongChecksum(t *testing.T) {
	own(t, "e262", func(t testing.TB) {
		file := []byte(rdbFile(9, rdbSelect0, rdbString, rdbText("k"), rdbText("v")))
		file[len(file)-1] ^= 1
		refusesRDB(t, string(file))
	})
}

func TestCase_e265_UnknownValueType(t *testing.T) {
	own(t, "e265", func(t testing.TB) {
		refusesRDB(t, rdbFile(9, rdbSelect0, "\x63", rdbText("k"), rdbText("v")))
	})
}

func TestCase_c109_NaNAsAScore(t *testing.T) {
	own(t, "c109", func(t testing.TB) {
		refusesRDB(t, rdbFile(9, rdbSelect0, rdbZSet2, rdbText("k"), "\x01", rdbText("m"), "\x00\x00\x00\x00\x00\x00\xf8\x7f"))
	})
}

func TestCase_e269_OlderEncodings(t *testing.T) {
	own(t, "e269", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Files: map[string]string{"dump.rdb": rdbFile(9, rdbSelect0,
			rdbList, rdbText("list"), "\x02", rdbText("a"), rdbText("b"),
			rdbSet, rdbText("set"), "\x02", rdbText("a"), rdbText("b"),
			rdbZSet, rdbText("zset"), "\x03", rdbText("m"), rdbText("1.5"), rdbText("p"), "\xfe", rdbText("n"), "\xff",
			rdbHash, rdbText("hash"), "\x01", rdbText("f"), rdbText("v"),
			rdbQuickList, rdbText("quicklist"), "\x01", rdbText(zipList("a", "b", "c")),
			rdbIntSet, rdbText("intset"), rdbText(intSet(-5, 1, 300)),
			rdbString, rdbText("lzf"), "\xc3\x05\x40\x64\x00a\xe0Z\x00",
		)}})
		c := s.Dial(t)
		c.Want(t, `["a" "b"]`, "LRANGE", "list", "0", "-1")
		c.Want(t, `["a" "b"] (any order)`, "SMEMBERS", "set")
		c.Want(t, `["n" "-inf" "m" "1.5" "p" "inf"]`, "ZRANGE", "zset", "0", "-1", "WITHSCORES")
		c.Want(t, `["f" "v"]`, "HGETALL", "hash")
		c.Want(t, `["a" "b" "c"]`, "LRANGE", "quicklist", "0", "-1")
		c.Want(t, `["-5" "1" "300"] (any order)`, "SMEMBERS", "intset")
		c.Want(t, `"a"*100`, "GET", "lzf")
		c.Want(t, ":7", "DBSIZE")
	})
}

func TestCase_e26a_ShutdownForms(t *testing.T) {
	own(t, "e26a", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Conf: []string{"save 3600 1"}})
		s.Want(t, "-ERR syntax error", "SHUTDOWN", "BAD")
		s.Want(t, "-ERR No shutdown in progress.", "SHUTDOWN", "ABORT")
		shutdown := func(how string) {
			c := s.Dial(t)
			must(t, c.Send("SHUTDOWN", how))
			if status := s.AwaitExit(t, testkit.Patience); status != 0 {
				t.Errorf("SHUTDOWN %s: exit status %d", how, status)
			}
			s.Restart(t)
		}
		s.Want(t, "+OK", "SET", "k", "1")
		shutdown("NOSAVE")
		s.Want(t, "nil", "GET", "k")
		s.Want(t, "+OK", "SET", "k", "2")
		shutdown("SAVE")
		s.Want(t, `"2"`, "GET", "k")
		s.Want(t, "+OK", "SET", "k", "3")
		if status := s.Stop(t); status != 0 {
			t.Errorf("SIGTERM: exit status %d", status)
		}
		s.Restart(t)
		s.Want(t, `"3"`, "GET", "k")
	})
}

func TestCase_c161g_RepliesWhileLoading(t *testing.T) {
	own(t, "c161g", func(t testing.TB) {
		var b strings.Builder
		value := strings.Repeat("v", 100)
		for i := 0; b.Len() < 40<<20; i++ {
			b.WriteString(record("SET", fmt.Sprint("key:", i), value))
		}
		b.WriteString(record("SET", "last", "done"))
		s := testkit.Launch(t, withAOF(b.String()))
		loading := 0
		testkit.Eventually(t, testkit.Patience, func() error {
			v, err := s.Try("GET", "last")
			switch {
			case !s.Running():
				t.Fatalf("the server is gone")
			case err != nil: // it does not listen yet
				return err
			case v.IsError("LOADING Redis is loading the dataset in memory"):
				loading++
				return fmt.Errorf("%v", v)
			case v.String() != `"done"`:
				t.Fatalf("GET while loading: %v", v)
			}
			return nil
		})
		s.Want(t, "+PONG", "PING")
		t.Logf("%d replies while loading", loading)
	})
}
