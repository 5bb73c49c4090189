package command

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/rdb"
	"github.com/covey-db/covey/internal/testkit/reply"
)

func TestRestoreArguments(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET k v
		RESTORE k 0 x -> -BUSYKEY Target key name already exists.
		RESTORE n -1 x -> -ERR Invalid TTL value, must be >= 0
		RESTORE n x y -> -ERR value is not an integer or out of range
		RESTORE n 0 "" -> -ERR DUMP payload version or checksum are wrong
		RESTORE n 0 x NOSUCH -> -ERR syntax error
		RESTORE n 0 x IDLETIME -> -ERR syntax error
		RESTORE n 0 x IDLETIME -1 -> -ERR Invalid IDLETIME value, must be >= 0
		RESTORE n 0 x FREQ 256 -> -ERR Invalid FREQ value, must be >= 0 and <= 255
		RESTORE n 0 x FREQ 1 IDLETIME 1 -> -ERR syntax error
		RESTORE n 0 x IDLETIME 1 FREQ 1 -> -ERR syntax error
		RESTORE n 0 x IDLETIME z -> -ERR value is not an integer or out of range
		DUMP no -> nil
		EXISTS n -> :0
	`)
}

func TestRestoreKnownPayloads(t *testing.T) {
	h := newHarness(t)
	h.script(`
		RESTORE n 0 "\x00\xc0\n\n\x00n\x9fWE\x0e\xaec\xbb" -> +OK
		GET n -> "10"
		OBJECT ENCODING n -> "int"
		RESTORE o 0 "\x00\x02hi\x06\x009\x86\xf7h{d'\x87" -> +OK
		GET o -> "hi"
		OBJECT ENCODING o -> "embstr"
		RESTORE p 0 "\x00\x02hi\x0f'\xb2\x1d\x99=|\x17\xa7Y" -> -ERR DUMP payload version or checksum are wrong
		RESTORE p 0 "\x00\x02hi\n\x00\xafk\x9f\xe8\x8e1\x1b\x00" -> -ERR DUMP payload version or checksum are wrong
		RESTORE q 0 "c\x02hi\n\x00\xb3\x0c\xd7\xea)\\~\xcf" -> -ERR Bad data format
		RESTORE q 0 "\x00?hi\n\x00\xb5\x15|l\xf0\x1e\x9d\x00" -> -ERR Bad data format
		RESTORE q 0 "\x00\xc3\x05@c\x00a\xe0Z\x00\n\x00\xad\xbf\xa8\xcd\xbc\x1a\x0b\xe9" -> -ERR Bad data format
		RESTORE q 0 "\x00\x02hijunk\n\x00/\xee\xf2\xb1\x10cl\x0f" -> -ERR Bad data format
		EXISTS p q -> :0
	`)
}

func TestDumpAndRestore(t *testing.T) {
	h := newHarness(t)
	for _, value := range []string{"", "a", "-1", "127", "128", "65536", "2147483648", "9223372036854775807", "007",
		strings.Repeat("ab", 30), strings.Repeat("x", 70000)} {
		h.args("SET", "k", value)
		payload := h.do("DUMP k").Text
		h.args("DEL", "n")
		for _, restore := range []string{"RESTORE", "RESTORE-ASKING"} {
			if v := h.args(restore, "n", "0", payload, "REPLACE"); v.Text != "OK" {
				t.Fatalf("%s of %.20q: %v", restore, value, v)
			}
			if got := h.do("GET n").Text; got != value {
				t.Fatalf("%.20q became %.20q", value, got)
			}
		}
	}
}

// Big values are dumped where the reply is sent from, whether they become shorter by that or longer than was thought.
func TestDumpOfBigValues(t *testing.T) {
	h := newHarness(t)
	h.e.Settings.DebugAllowed.Store(engine.AllowAll)
	noise := make([]byte, 3<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	h.args("SET", "noise", string(noise))
	h.args("SET", "zeros", strings.Repeat("0", 5<<20))
	for i := range 200 { // nodes of 64 KB, of which some are weighed
		h.args("RPUSH", "list", string(noise[i*10_000:(i+1)*10_000]))
	}
	for i := range 5000 {
		h.args("HSET", "hash", strconv.Itoa(i), string(noise[i*300:(i+1)*300]))
		h.args("ZADD", "zset", strconv.Itoa(i), string(noise[i*200:(i+1)*200]))
	}
	for _, key := range []string{"noise", "zeros", "list", "hash", "zset"} {
		payload := h.do("DUMP " + key).Text
		if v := h.args("RESTORE", "copy", "0", payload, "REPLACE"); v.Text != "OK" {
			t.Fatalf("%s: RESTORE of %d bytes: %v", key, len(payload), v)
		}
		if was, is := h.do("DEBUG DIGEST-VALUE "+key).String(), h.do("DEBUG DIGEST-VALUE copy").String(); was != is || strings.HasPrefix(was, "-") {
			t.Errorf("%s has the digest %s, its copy %s", key, was, is)
		}
	}
}

func TestRestoreTimes(t *testing.T) {
	h := newHarness(t)
	h.script("SET k v")
	payload := reply.Quote(h.do("DUMP k").Text)
	h.effects()
	h.script(`
		RESTORE a 5000 ` + payload + ` -> +OK
		PTTL a -> :5000
		RESTORE b 1700000009000 ` + payload + ` ABSTTL -> +OK
		PTTL b -> :9000
		RESTORE c 1600000000000 ` + payload + ` ABSTTL -> +OK
		EXISTS c -> :0
		SET c old
		RESTORE c 1600000000000 ` + payload + ` ABSTTL REPLACE -> +OK
		EXISTS c -> :0
		RESTORE d 0 ` + payload + ` IDLETIME 100 -> +OK
		OBJECT IDLETIME d -> :100
		RESTORE e 9223372036854775807 ` + payload + ` -> +OK
		PEXPIRETIME e -> :9223372036854775807
	`)
	got := h.effects()
	if len(got) != 6 || !strings.HasPrefix(got[0], "RESTORE a 1700000005000 ") || !strings.HasSuffix(got[0], " ABSTTL") ||
		!strings.HasPrefix(got[1], "RESTORE b 1700000009000 ") || got[3] != "DEL c" {
		t.Fatalf("logged %q", got)
	}
	h.e.Evictor.SetPolicy(engine.AllKeysLFU)
	h.e.TickClock()
	h.script(`
		RESTORE f 0 ` + payload + ` FREQ 200 -> +OK
		OBJECT FREQ f -> :200
		OBJECT IDLETIME f -> -ERR An LFU maxmemory policy is selected...
	`)
}

// A payload of a later version is logged in the one that every reader of the log knows.
func TestRestoreOfANewerPayload(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET k v
		FUNCTION LOAD "#!lua name=l\nredis.register_function('f', function() return 1 end)"
	`)
	value, libraries := h.do("DUMP k").Text, h.do("FUNCTION DUMP").Text
	newer := func(payload string) string {
		out := binary.LittleEndian.AppendUint16([]byte(payload[:len(payload)-10]), rdb.WriteVersion+1)
		return reply.Quote(string(binary.LittleEndian.AppendUint64(out, checksum.CRC64(0, out))))
	}
	h.effects()
	h.script(`
		RESTORE a 0 ` + newer(value) + ` -> +OK
		RESTORE a 5000 ` + newer(value) + ` REPLACE -> +OK
		RESTORE a 1700000009000 ` + newer(value) + ` ABSTTL REPLACE -> +OK
		FUNCTION RESTORE ` + newer(libraries) + ` FLUSH -> +OK
	`)
	h.wantEffects(
		"RESTORE a 0 "+value,
		"RESTORE a 1700000005000 "+value+" REPLACE ABSTTL",
		"RESTORE a 1700000009000 "+value+" ABSTTL REPLACE",
		"FUNCTION RESTORE "+libraries+" FLUSH",
	)
}

// A payload that is wrong at its very end leaves the key that it should have replaced as it was, whatever it has of a value.
func TestDamagedPayloadReplacesNothing(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET string abc
		SET number 7
		HSET hash f v
		SADD intset 1 2 3
		SADD set a b
		ZADD zset 1 a
		RPUSH list a b
		XADD stream 1-1 f v
	`)
	sum := func(body string) string {
		return string(rdb.AppendDumpFooter([]byte(body), 0))
	}
	for _, key := range []string{"string", "number", "hash", "intset", "set", "zset", "list", "stream"} {
		payload := h.do("DUMP " + key).Text
		body := payload[:len(payload)-len(sum(""))]
		for _, bad := range []string{body + "x", body[:len(body)-1]} {
			for _, ttl := range []string{"0", "1000"} {
				h.do("SET to old")
				if v := h.args("RESTORE", "to", ttl, sum(bad), "REPLACE"); !v.IsError("ERR Bad data format") {
					t.Errorf("a damaged %s: %v", key, v)
				}
				h.script(`
					GET to -> "old"
					TTL to -> :-1
				`)
			}
			if v := h.args("RESTORE", "to", "1", sum(bad), "REPLACE", "ABSTTL"); !v.IsError("ERR Bad data format") {
				t.Errorf("a damaged %s of the past: %v", key, v)
			}
		}
		if v := h.args("RESTORE", "to", "0", sum(body), "REPLACE"); v.Text != "OK" {
			t.Errorf("a sound %s: %v", key, v)
		}
	}
}
