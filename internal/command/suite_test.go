package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds what the test suite of Redis asks of commands and no other test here did.

func TestTimeoutsBeyondFloats(t *testing.T) {
	newHarness(t).script(`
		BLPOP l 1e400 -> -ERR timeout is out of range
		BLPOP l -1e400 -> -ERR timeout is negative
		BLPOP l 1e5000 -> -ERR timeout is not a float or out of range
		BLPOP l inf -> -ERR timeout is out of range
		BLPOP l nan -> -ERR timeout is not a float or out of range
		BLPOP l x -> -ERR timeout is not a float or out of range
	`)
}

// Values with many elements are freed after their command, and counted when they are gone.
func TestValuesFreedLaterAreCounted(t *testing.T) {
	h := newHarness(t)
	memory := func(pending, freed int64) {
		t.Helper()
		if p, f := h.e.Trash(); p != pending || f != freed {
			t.Errorf("%d are pending and %d freed, want %d and %d", p, f, pending, freed)
		}
	}
	for i := range 1000 {
		h.do(fmt.Sprintf("SADD s %d%s", i, strings.Repeat("x", 70)))
	}
	h.want("SADD small a b c", ":3")
	h.want("UNLINK small", ":1")
	memory(0, 0)
	h.want("UNLINK s", ":1")
	memory(1, 0)
	h.e.FreeTrash(100)
	memory(0, 1)
	h.want("SET k v", "+OK")
	h.want("FLUSHALL ASYNC", "+OK")
	memory(1, 1)
	h.e.FreeTrash(100)
	memory(0, 2)
	h.e.ResetStats()
	memory(0, 0)
}

// What a damaged payload is refused for stands in the log, and the checksum can be left out of the question.
func TestDamagedPayloadsAreLogged(t *testing.T) {
	var logged []string
	h := newHarnessWith(t, harnessOptions{deps: Deps{LogWarning: func(text string) { logged = append(logged, text) }}})
	h.e.Settings.DebugAllowed.Store(engine.AllowLocal)
	h.want("ZADD z 1 a 2 b", ":2")
	payload := []byte(h.do("DUMP z").Plain())
	payload[3]++ // the length of the listpack
	restore := func(want string) {
		t.Helper()
		if v := h.args("RESTORE", "k", "0", string(payload)); !strings.HasPrefix(v.String(), want) {
			t.Errorf("RESTORE: %v, want %s", v, want)
		}
	}
	restore("-ERR DUMP payload version or checksum are wrong")
	h.want("DEBUG SET-SKIP-CHECKSUM-VALIDATION 1", "+OK")
	restore("-ERR Bad data format")
	if len(logged) != 1 || !strings.Contains(logged[0], "Zset listpack integrity check failed: ") {
		t.Errorf("logged: %q", logged)
	}
	consumer := "\x01c\x01\x02\x03\x04\x05\x06\x07\x08\x00"
	for value, want := range map[string]string{
		"\x10\x11\x11\x00\x00\x00\x04\x00\x81f\x02\x01\x01\x81f\x02\x01\x01\xff": "Hash listpack with dup elements: ",
		"\x0f\x00\x00\x00\x00\x01\x01g\x00\x00\x00\x02" + consumer + consumer:    "Duplicate stream consumer detected: ",
	} {
		payload, logged = rdb.AppendDumpFooter([]byte(value), 0), nil
		restore("-ERR Bad data format")
		if len(logged) != 1 || !strings.Contains(logged[0], want) {
			t.Errorf("logged: %q, want %s", logged, want)
		}
	}
	payload[3]++ // the checksum does not fit any more
	h.want("DEBUG SET-SKIP-CHECKSUM-VALIDATION 0", "+OK")
	restore("-ERR DUMP payload version or checksum are wrong")
}
