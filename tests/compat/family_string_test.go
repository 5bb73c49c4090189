package compat

import "pgregory.net/rapid"

// The families of strings: values, bits, HyperLogLogs; and the commands of keys whatever their type.

func stringFamily() *family {
	return &family{name: "strings", prelude: []string{"RPUSH wrong a b"}, table: `
		6 SET key value
		3 SET key value [NX | XX] [GET] [EX seconds | PX millis | EXAT at | PXAT atms | KEEPTTL]
		  SET key value (word | EX | seconds)+
		2 GET key
		  GETDEL key
		  GETSET key value
		2 GETEX key [EX seconds | PX millis | EXAT at | PXAT atms | PERSIST]
		  MGET (key)+
		2 MSET (key value)+
		  MSETNX (key value)+
		  SETNX key value
		  SETEX key seconds value
		  PSETEX key millis value
		2 APPEND key value
		  STRLEN key
		2 SETRANGE key offset value
		  GETRANGE key index index
		  SUBSTR key index index
		  INCR key
		  DECR key
		2 INCRBY key amount
		  DECRBY key amount
		3 INCRBYFLOAT key float
		2 LCS key key [LEN | IDX] [MINMATCHLEN limit] [WITHMATCHLEN]
		  TTL key
		  OBJECT ENCODING key
		  CARRY key key
		  DEL key
	`}
}

func bitFamily() *family {
	return &family{name: "bitmaps", prelude: []string{"RPUSH wrong a b"}, table: `
		3 SET key value
		5 SETBIT key offset bit
		  SETRANGE key offset value
		  EXPIRE key seconds
		2 GETBIT key offset
		  BITCOUNT key
		3 BITCOUNT key index index [BIT | BYTE]
		  BITCOUNT key index
		  BITPOS key bit
		3 BITPOS key bit index [index [BIT | BYTE]]
		4 BITOP (AND | OR | XOR | 'not) key (key)+
		2 BITOP NOT key key
		  BITFIELD_RO key (GET integer offset)*
		3 BITFIELD key (GET integer offset | SET integer offset amount | INCRBY integer offset amount | OVERFLOW (WRAP | SAT | FAIL))*
		2 BITFIELD key OVERFLOW (SAT | FAIL | 'wrap) (SET integer offset amount | INCRBY integer offset amount)+
		  GET key
		  APPEND key value
		  OBJECT ENCODING key
		  CARRY key key
	`}
}

func hyperLogLogFamily() *family {
	limits := func(n string) []string { return []string{"hll-sparse-max-bytes", n} }
	return &family{name: "hyperloglogs", prelude: []string{"RPUSH wrong a b"},
		configs: [][]string{limits("3000"), limits("0"), limits("40"), limits("200"), limits("16000")}, table: `
		5 PFADD key (element)*
		2 PFADD key elements
		  PFADD key hundreds
		3 PFCOUNT (key)+
		3 PFMERGE key (key)*
		2 GET key
		  PFDEBUG (GETREG | DECODE | ENCODING | TODENSE | value) key
		  EXPIRE key seconds
		  SET key value
		  COPY key key REPLACE
		  OBJECT ENCODING key
		  STRLEN key
		  CARRY key key
		  SET key sketch
		  SETRANGE key offset value
	`}
}

// sketches are HyperLogLogs, most of them damaged.
func sketches() []string {
	const stale = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80"
	return []string{"HYLL\x01" + stale + "\x7f\xff", "HYLL\x01" + stale + "\x7f\xfe",
		"HYLL\x01" + stale + "\x40\xff\x84\x85\x3f\x7e\xbe", "HYLL\x01" + stale, "HYLL\x00" + stale, "HYLL\x02" + stale + "\x7f\xff", "HYLL", "hyll\x01" + stale + "\x7f\xff"}
}

// runPFAdd adds to a HyperLogLog. Where it turns out to be damaged, redis-server has added some of the elements and we
// none.
func runPFAdd(p *pair, t rapid.TB, conn int, args []string) {
	if p.compare(t, conn, args).IsError("INVALIDOBJ") {
		p.both(t, conn, "DEL", args[1])
	}
}

func keyFamily() *family {
	return &family{name: "keys", prelude: []string{"SET k1 text", "RPUSH k2 a b c", "HSET k3 f1 v1 f2 v2", "SADD k4 a 1", "ZADD wrong 1 a 2 b", "XADD none 1-1 f v"}, table: `
		4 SET key value [EX seconds | PX millis]
		2 RPUSH key (element)+
		2 HSET key (field value)+
		2 SADD key (element)+
		2 ZADD key (small element)+
		  XADD key '1-* field value
		3 EXPIRE key seconds [NX | XX | GT | LT] [NX | XX | GT | LT]
		3 PEXPIRE key millis [NX | XX | GT | 'lt | word]
		2 EXPIREAT key at [NX | XX | GT | LT]
		2 PEXPIREAT key atms [NX | XX | GT | LT]
		  TTL key
		  PTTL key
		  EXPIRETIME key
		  PEXPIRETIME key
		  PERSIST key
		2 DEL (key)+
		  UNLINK (key)+
		  EXISTS (key)+
		  TOUCH (key)+
		2 TYPE key
		3 RENAME key key
		2 RENAMENX key key
		3 COPY key key [DB db] [REPLACE] [word]
		3 MOVE key db
		3 SELECT db
		  SWAPDB db db
		  KEYS pattern
		  DBSIZE
		  RANDOMKEY
		2 SCAN 0 [MATCH pattern] [COUNT limit] [TYPE ('string | 'list | 'hash | 'set | 'zset | 'stream | value)]
		  SCAN (int | value)
		  FLUSHDB [ASYNC | SYNC | word]
		2 OBJECT (ENCODING | REFCOUNT | FREQ | value) key
		  OBJECT IDLETIME key
		4 CARRY key key
		2 RESTORE key (0 | millis) value [REPLACE] [ABSTTL] [IDLETIME limit] [FREQ limit]
		  DUMP 'missing
		  DEBUG DIGEST-VALUE (key)+
		  GET key
		  LLEN key
	`}
}

func transactionFamily() *family {
	return &family{name: "transactions", encodings: "skiplist", prelude: []string{"SET k1 1", "SET wrong text"}, table: `
		8 MULTI
		8 EXEC
		2 DISCARD
		3 WATCH (key)+
		  UNWATCH
		4 SET key value
		4 INCR key
		2 APPEND key value
		2 GET key
		2 DEL (key)+
		  MSET (key value)+
		  RENAME key key
		  EXPIRE key seconds
		  SELECT db
		  NOSUCHCOMMAND value
		  SETRANGE key offset value
		  EXISTS (key)+
		  FLUSHALL
		  RPUSH key (element)+
		  LPOP key [count]
		  RPOPLPUSH key key
		  LRANGE key index index
		  HSET key (field value)+
		  HINCRBY key field amount
		  HMGET key (field)+
		  SADD key (element)+
		  SMISMEMBER key (element)+
		  ZADD key (small element)+
		  ZINCRBY key small element
		  ZRANGE key index index
		  XADD key id field value
		  XLEN key
		  PFADD key (element)*
		  PFCOUNT key
		  SETBIT key offset bit
		  BITCOUNT key
		  SORT key ALPHA
	`}
}
