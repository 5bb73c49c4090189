package command

import "testing"

func TestExpire(t *testing.T) {
	h := newHarness(t)
	h.script(`
		EXPIRE no 10 -> :0
		SET k v
		TTL k -> :-1
		PTTL k -> :-1
		EXPIRETIME k -> :-1
		PEXPIRETIME k -> :-1
		PERSIST k -> :0
		EXPIRE k 10 -> :1
		TTL k -> :10
		PTTL k -> :10000
		EXPIRETIME k -> :1700000010
		PEXPIRETIME k -> :1700000010000
		wait 1400ms
		TTL k -> :9
		wait 200ms
		TTL k -> :8
		PERSIST k -> :1
		TTL k -> :-1
		PEXPIRE k 1500 -> :1
		EXPIREAT k 1800000000 -> :1
		EXPIRETIME k -> :1800000000
		PEXPIREAT k 1800000000499 -> :1
		EXPIRETIME k -> :1800000000
		PEXPIREAT k 1800000000500 -> :1
		EXPIRETIME k -> :1800000001
		PEXPIREAT k 9223372036854775807 -> :1
		PEXPIRETIME k -> :9223372036854775807
		EXPIRETIME k -> :9223372036854776
	`)
	h.wantEffects("SELECT 0", "SET k v", "PEXPIREAT k 1700000010000", "PERSIST k", "PEXPIREAT k 1700000003100",
		"PEXPIREAT k 1800000000000", "PEXPIREAT k 1800000000499", "PEXPIREAT k 1800000000500", "PEXPIREAT k 9223372036854775807")
}

func TestExpireInThePastDeletes(t *testing.T) {
	h := newHarness(t)
	h.script(`
		MSET a 1 b 2 c 3 d 4 e 5
		EXPIRE a 0 -> :1
		EXPIRE b -1 -> :1
		EXPIREAT c 1 -> :1
		PEXPIREAT d 1700000000000 -> :1
		PEXPIREAT e 1700000000001 -> :1
		DBSIZE -> :1
		wait 1ms
		EXISTS e -> :0
	`)
	h.wantEffects("SELECT 0", "MSET a 1 b 2 c 3 d 4 e 5", "DEL a", "DEL b", "DEL c", "DEL d", "PEXPIREAT e 1700000000001", "DEL e")
}

func TestExpireConditions(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET k v
		EXPIRE k 10 XX -> :0
		EXPIRE k 10 GT -> :0
		EXPIRE k 10 LT -> :1
		EXPIRE k 20 NX -> :0
		EXPIRE k 20 LT -> :0
		EXPIRE k 10 GT -> :0
		EXPIRE k 10 LT -> :0
		EXPIRE k 20 GT -> :1
		EXPIRE k 15 xx gt -> :0
		EXPIRE k 15 XX LT -> :1
		EXPIRE k 30 XX -> :1
		TTL k -> :30
		PERSIST k
		EXPIRE k 10 XX LT -> :0
		EXPIRE k -10 GT -> :0
		EXPIRE k 10 NX -> :1
		EXPIRE k -10 LT -> :1
		EXISTS k -> :0
		EXPIRE k 10 FOO -> -ERR Unsupported option FOO
		EXPIRE k 10 "FOO\x00BAR" -> -ERR Unsupported option FOO
		EXPIRE k 10 NX XX -> -ERR NX and XX, GT or LT options at the same time are not compatible
		EXPIRE k 10 NX GT -> -ERR NX and XX, GT or LT options at the same time are not compatible
		EXPIRE k 10 LT NX -> -ERR NX and XX, GT or LT options at the same time are not compatible
		EXPIRE k 10 GT LT -> -ERR GT and LT options at the same time are not compatible
		EXPIRE k x FOO -> -ERR Unsupported option FOO
	`)
}

func TestExpireTimesThatOverflow(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET k v
		EXPIRE k 9223372036854775807 -> -ERR invalid expire time in 'expire' command
		EXPIRE k 9223372036854776 -> -ERR invalid expire time in 'expire' command
		EXPIRE k -9223372036854775808 -> -ERR invalid expire time in 'expire' command
		EXPIRE k 9223372036854775 -> -ERR invalid expire time in 'expire' command
		EXPIREAT k 9223372036854776 -> -ERR invalid expire time in 'expireat' command
		PEXPIRE k 9223372036854775807 -> -ERR invalid expire time in 'pexpire' command
		PEXPIRE k x -> -ERR value is not an integer or out of range
		PEXPIRE k 9223372036854775808 -> -ERR value is not an integer or out of range
		SET k v EX 0 -> -ERR invalid expire time in 'set' command
		SET k v PX -1 -> -ERR invalid expire time in 'set' command
		SETEX k 0 v -> -ERR invalid expire time in 'setex' command
		TTL k -> :-1
		EXPIREAT k 9223372036854775 -> :1
		EXPIRETIME k -> :9223372036854775
		PEXPIRE k -9223372036854775808 -> :1
		EXISTS k -> :0
	`)
}

func TestLazyExpireIsLoggedAsUnlink(t *testing.T) {
	h := newHarness(t)
	h.e.Settings.LazyExpire.Store(true)
	h.script(`
		SET k v PX 10
		wait 20ms
		GET k -> nil
		SET k v
		EXPIRE k 0 -> :1
	`)
	h.wantEffects("SELECT 0", "SET k v PXAT 1700000000010", "UNLINK k", "SET k v", "UNLINK k")
}

// A target whose time is over is removed as any other where there is nothing to store.
func TestNothingIsStoredOverAnExpiredKey(t *testing.T) {
	for _, store := range []string{"BITOP AND k a b", "SORT a STORE k", "SINTERSTORE k a b", "ZINTERSTORE k 2 a b", "ZRANGESTORE k a 0 1",
		"GEOSEARCHSTORE k a FROMLONLAT 1 1 BYRADIUS 1 km"} {
		h := newHarness(t)
		h.script(`
			SET k v PX 10
			wait 20ms
			` + store + ` -> :0
			EXISTS k -> :0
		`)
		h.wantEffects("SELECT 0", "SET k v PXAT 1700000000010", store)
	}
}

// A replica applies what its primary sends as it is, also a time that is over.
func TestPrimaryLinkKeepsPastExpiry(t *testing.T) {
	h := newHarness(t)
	link := &testClient{t: t, h: h, w: h.w, posted: h.posted}
	link.s = h.e.NewPrimaryLink(link, h.s.Peer, nil)
	defer link.s.Close()
	link.send("SET", "k", "v")
	link.send("PEXPIREAT", "k", "0")
	h.e.LockAll()
	h.e.Role.SetReplica(true)
	h.e.UnlockAll()
	h.want("DBSIZE", ":1")
	h.want("EXISTS k", ":0")
	h.want("DBSIZE", ":1")
	link.send("DEL", "k")
	h.want("DBSIZE", ":0")
}
