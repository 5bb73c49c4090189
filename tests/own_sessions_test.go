package tests

import (
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// TestErrorsAreCountedAsByRedis: by the code, which is a word with another behind it, and by the command.
func TestErrorsAreCountedAsByRedis(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{})
	c := s.Dial(t)
	c.Want(t, "-FOO_x", "EVAL", "return {err='FOO_x'}", "0")
	c.Want(t, "-BAR x", "EVAL", "return {err='BAR x'}", "0")
	c.Want(t, "-ERR wrong number...", "CONFIG")
	c.Want(t, "-ERR Wrong number of args...", "EVAL", "redis.call('config')", "0")
	c.OK(t, "SET", "{a}b", "1")
	c.Want(t, "-IOERR...", "MIGRATE", "127.0.0.1", "1", "", "0", "10", "KEYS", "{a}b")
	for _, line := range []string{"errorstat_ERR:count=3", "errorstat_BAR:count=1", "errorstat_IOERR:count=1"} {
		c.Want(t, `has("`+line+`")`, "INFO", "errorstats")
	}
	c.Want(t, `has("cmdstat_config:calls=0,usec=0,usec_per_call=0.00,rejected_calls=2,failed_calls=0")`, "INFO", "commandstats")
	c.Want(t, `has("rejected_calls=0,failed_calls=1")`, "INFO", "commandstats")
}

// TestRefusedExec tells why the transaction is over without the code of an ordinary error.
func TestRefusedExec(t *testing.T) {
	t.Parallel()
	c := testkit.Start(t, testkit.Options{}).Dial(t)
	c.Want(t, `["subscribe" "c" :1]`, "SUBSCRIBE", "c")
	c.OK(t, "RESET")
	c.Want(t, "+OK", "MULTI")
	c.Want(t, "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command", "EXEC", "x")
}

// TestForgottenKeysAreNullInRESP2: a redirected client is told of FLUSHALL by the null that RESP2 has for strings.
func TestForgottenKeysAreNullInRESP2(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{})
	reader, listener := s.Dial(t), s.Dial(t)
	id := listener.OK(t, "CLIENT", "ID").Plain()
	listener.Want(t, `["subscribe" "__redis__:invalidate" :1]`, "SUBSCRIBE", "__redis__:invalidate")
	reader.Want(t, "+OK", "CLIENT", "TRACKING", "ON", "REDIRECT", id)
	reader.OK(t, "FLUSHALL")
	const told = "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n$-1\r\n"
	got, err := listener.ReadBytes(len(told))
	if err != nil || string(got) != told {
		t.Fatalf("%q, %v", got, err)
	}
}
