package command

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/resp"
)

// oddWords are arguments that handlers may not expect.
var oddWords = []string{
	"", "0", "1", "-1", "2", "k", "k2", "{a}1", "*", "EX", "PX", "EXAT", "PXAT", "KEEPTTL", "GET", "NX", "XX", "GT", "LT", "COUNT", "MATCH", "TYPE",
	"string", "IDX", "LEN", "MINMATCHLEN", "WITHMATCHLEN", "REPLACE", "DB", "ABSTTL", "FREQ", "IDLETIME", "ID", "ADDR", "SKIPME", "yes",
	"ON", "OFF", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e400", "nan", "0x10", "1.5", " 1",
	"\x00", "\r\n", "%s%n", strings.Repeat("9", 40), strings.Repeat("x", 5000), "AUTH", "SETNAME", "3", "ASYNC", "PERSIST", "FIELDS", "KEYS",
}

// leaveAlone need what a harness has not, end the process, take long or give a reply for each argument.
var leaveAlone = map[string]bool{"monitor": true, "shutdown": true, "debug": true, "info": true, "config": true, "lolwut": true, "subscribe": true,
	"psubscribe": true, "ssubscribe": true, "unsubscribe": true, "punsubscribe": true, "sunsubscribe": true}

// TestOddArgumentsHurtNobody sends every command with arguments of all kinds, inside transactions and out, alone and in a
// cluster: each is answered with exactly one reply, and none panics.
func TestOddArgumentsHurtNobody(t *testing.T) {
	for _, cluster := range []bool{false, true} {
		h := newHarnessWith(t, harnessOptions{cluster: cluster})
		if cluster {
			h.serveAllSlots()
		}
		rng := rand.New(rand.NewPCG(7, 8))
		var names []string
		for row := range h.e.Table().All() {
			if name, _, _ := strings.Cut(row.Full, "|"); !leaveAlone[name] {
				names = append(names, row.Full)
			}
		}
		for range 60000 {
			args := strings.Split(names[rng.IntN(len(names))], "|")
			for range rng.IntN(7) {
				args = append(args, oddWords[rng.IntN(len(oddWords))])
			}
			h.oneReply(args)
		}
	}
}

// oneReply sends a command whose reply must be one, or none when the session has been told so or waits.
func (h *harness) oneReply(args []string) {
	h.t.Helper()
	if name := strings.ToLower(args[0]); name == "client" && len(args) > 1 && (args[1] == "reply" || args[1] == "pause") {
		return
	}
	h.send(args...)
	b := h.out.Bytes()
	if h.s.Unblock(false) {
		h.read()
		return
	}
	if len(b) == 0 {
		h.t.Fatalf("%.200q: no reply", args)
	}
	_, n, err := resp.ParseReply(b)
	if err != nil || n != len(b) {
		h.t.Fatalf("%.200q: %d of %d bytes are the reply: %v: %.300q", args, n, len(b), err, b)
	}
	h.out.Reset()
	if !h.s.Open() { // QUIT, CLIENT KILL of itself
		h.s.Close()
		h.testClient = h.newClient(h.t)
	}
}
