package compat

import (
	"strings"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// The families of lists, hashes, sets and sorted sets, and SORT.

func listFamily() *family {
	limits := func(size string) []string { return []string{"list-max-listpack-size", size} }
	return &family{name: "lists", prelude: []string{"SET wrong text"}, configs: [][]string{limits("-2"), limits("4"), limits("-1"), limits("1"), limits("128")}, table: `
		4 RPUSH key (element)+
		4 LPUSH key (element)+
		  RPUSH key elements
		  LPUSH key hundreds
		  RPUSH key value
		  RPUSHX key (element)+
		  LPUSHX key (element)+
		2 LPOP key [count]
		2 RPOP key [count]
		  LLEN key
		3 LRANGE key index index
		3 LINDEX key index
		3 LSET key position element
		3 LINSERT key (BEFORE | AFTER | word) element element
		3 LREM key count element
		2 LTRIM key index index
		2 LPOS key element [RANK count] [COUNT limit] [MAXLEN limit]
		3 LMOVE key key (LEFT | RIGHT) (LEFT | 'right | word)
		2 RPOPLPUSH key key
		2 LMPOP 1 key (LEFT | RIGHT) [COUNT limit]
		  LMPOP 2 key key (LEFT | RIGHT | word) [COUNT limit]
		  LMPOP (limit | int) key LEFT
		  BLPOP key (key)* 0.001
		  BLMOVE key key LEFT RIGHT (0.001 | 'x | -1)
		  BLMPOP 0.001 2 key key LEFT [COUNT limit]
		  OBJECT ENCODING key
		  CARRY key key
		  EXPIRE key seconds
		  DEL key
	`}
}

// hashLimits are settings under which hashes have different encodings.
func hashLimits() [][]string {
	limits := func(entries, value string) []string {
		return []string{"hash-max-listpack-entries", entries, "hash-max-listpack-value", value}
	}
	return [][]string{limits("512", "64"), limits("4", "64"), limits("512", "8"), limits("0", "0")}
}

func hashFamily() *family {
	return &family{name: "hashes", prelude: []string{"SET wrong text"}, configs: hashLimits(), table: `
		5 HSET key (field value)+
		  HSET key elements
		  HSET key hundreds
		  HMSET key (field value)+
		2 HSETNX key field value
		2 HGET key field
		2 HMGET key (field)+
		2 HGETALL key
		  HKEYS key
		  HVALS key
		  HLEN key
		  HSTRLEN key field
		  HEXISTS key field
		3 HDEL key (field)+
		  HDEL key elements
		3 HINCRBY key field amount
		3 HINCRBYFLOAT key field float
		2 HRANDFIELD key [sample [WITHVALUES]]
		2 HSCAN key 0 [MATCH pattern] [COUNT limit]
		  HSCAN key int
		  OBJECT ENCODING key
		  CARRY key key
		  COPY key key REPLACE
		  EXPIRE key seconds
		  DEL key
	`}
}

func setFamily() *family {
	limits := func(intset string) []string { return []string{"set-max-intset-entries", intset} }
	return &family{name: "sets", prelude: []string{"SET wrong text"}, configs: [][]string{limits("512"), limits("4"), limits("1")}, table: `
		5 SADD key (element)+
		2 SADD key (limit)+
		  SADD key elements
		  SADD key hundreds
		3 SREM key (element)+
		  SREM key elements
		2 SISMEMBER key element
		2 SMISMEMBER key (element)+
		  SCARD key
		2 SMEMBERS key
		2 SMOVE key key element
		2 SPOP key [sample]
		2 SRANDMEMBER key [sample]
		2 SINTER (key)+
		2 SUNION (key)+
		2 SDIFF (key)+
		2 SINTERSTORE key (key)+
		2 SUNIONSTORE key (key)+
		2 SDIFFSTORE key (key)+
		  SINTERCARD 2 key key [LIMIT limit]
		  SINTERCARD limit key
		2 SSCAN key 0 [MATCH pattern] [COUNT limit]
		  SSCAN key int
		  OBJECT ENCODING key
		  CARRY key key
		  COPY key key REPLACE
		  EXPIRE key seconds
		  DEL key
	`}
}

func zsetFamily() *family {
	limits := func(entries, value string) []string {
		return []string{"zset-max-listpack-entries", entries, "zset-max-listpack-value", value}
	}
	return &family{name: "sorted sets", prelude: []string{"SET wrong text", "SET lexicon text", "SADD k4 a b 1"}, configs: [][]string{limits("128", "64"), limits("4", "64"), limits("128", "8"), limits("0", "0")}, table: `
		6 ZADD key (score element)+
		3 ZADD key [NX | XX] [GT | LT] [CH] [INCR] (score element)+
		  ZADD key word score element
		2 ZADD key (0 element)+
		  ZADD key elements
		  ZADD key (1 | 0) 'a elements
		3 ZINCRBY key float element
		2 ZREM key (element)+
		2 ZSCORE key element
		  ZMSCORE key (element)+
		  ZCARD key
		2 ZCOUNT key bound bound
		# Ranges by name mean something only where all scores are equal.
		3 ZADD lexkey (0 element)+
		  ZADD lexkey [NX | XX] [CH] (0 element)+
		2 ZLEXCOUNT lexkey lexbound lexbound
		2 ZRANK key element [WITHSCORE]
		2 ZREVRANK key element [WITHSCORE]
		3 ZRANGE key index index [REV] [WITHSCORES]
		3 ZRANGE key bound bound BYSCORE [REV] [LIMIT count count] [WITHSCORES]
		3 ZRANGE lexkey lexbound lexbound BYLEX [REV] [LIMIT count count]
		  ZRANGE key index index (word)+
		  ZREVRANGE key index index [WITHSCORES]
		2 ZRANGEBYSCORE key bound bound [WITHSCORES] [LIMIT count count]
		  ZREVRANGEBYSCORE key bound bound [LIMIT count count] [WITHSCORES]
		2 ZRANGEBYLEX lexkey lexbound lexbound [LIMIT count count]
		  ZREVRANGEBYLEX lexkey lexbound lexbound [LIMIT count count]
		2 ZRANGESTORE key key index index [REV]
		  ZRANGESTORE key key bound bound BYSCORE [REV] [LIMIT count count]
		  ZRANGESTORE key lexkey lexbound lexbound BYLEX [LIMIT count count]
		  ZREMRANGEBYRANK key index index
		  ZREMRANGEBYSCORE key bound bound
		  ZREMRANGEBYLEX lexkey lexbound lexbound
		2 ZPOPMIN key [count]
		2 ZPOPMAX key [count]
		  ZMPOP 2 key key (MIN | MAX) [COUNT limit]
		  ZMPOP limit key MIN
		  BZPOPMIN key key 0.001
		  BZMPOP 0.001 2 key key MAX
		2 ZRANDMEMBER key [sample [WITHSCORES]]
		3 ZUNION 2 key key [WEIGHTS float float] [AGGREGATE (SUM | MIN | MAX | word)] [WITHSCORES]
		2 ZINTER 2 key key [WEIGHTS float float] [AGGREGATE (SUM | MIN | MAX)] [WITHSCORES]
		2 ZDIFF 2 key key [WITHSCORES]
		2 ZUNIONSTORE key 2 key key [WEIGHTS float float] [AGGREGATE (SUM | MIN | MAX)]
		2 ZINTERSTORE key 2 key key [WEIGHTS float float] [AGGREGATE (SUM | MIN | MAX)]
		  ZDIFFSTORE key 2 key key
		  ZINTERCARD 2 key key [LIMIT limit]
		  ZUNION limit key
		2 ZSCAN key 0 [MATCH pattern] [COUNT limit]
		  OBJECT ENCODING key
		  CARRY key key
		  COPY key key REPLACE
		  EXPIRE key seconds
		  DEL key
	`}
}

func sortFamily() *family {
	return &family{name: "sort", encodings: "skiplist", prelude: []string{"SET wrong text", "MSET w_a 3 w_b 1 w_c 2 w_1 9 w_2 8 w_3 7 w_5 x", "HSET h_a f1 30 f2 x", "HSET h_b f1 10", "HSET h_1 f1 5 f2 y", "HSET h_2 f1 4"}, table: `
		# Texts are compared up to a zero byte. Equal weights leave the order open when they are compared as texts, and so does a set that is not sorted.
		5 RPUSH key (plain)+
		3 RPUSH key (limit)+
		2 ZADD key (small plain)+
		3 RPUSH 'known (A | 'a | 'b | 'c | 1 | 2 | 3 | 5)+
		3 SADD 'set (plain)+
		2 SADD 'set (limit)+
		  RPUSH key elements
		3 SORT key ALPHA [LIMIT count count] [ASC | DESC]
		3 SORT key [LIMIT count count] [DESC] [ALPHA]
		3 SORT key BY weight [LIMIT count count] [GET fetch]
		3 SORT 'known BY ('w_* | 'nosuch) ALPHA [DESC] [LIMIT count count] [GET fetch]
		2 SORT key [BY weight] [ASC | DESC] [GET fetch] [GET fetch]
		2 SORT key [BY weight] [LIMIT count count] [GET fetch] STORE key
		3 SORT 'set [ALPHA] [ASC | DESC] [LIMIT count count] [GET fetch] [STORE key]
		2 SORT_RO key [BY weight] [GET fetch]
		  SORT key (word)+
		  LRANGE key 0 -1
		  DEL (key | 'set | 'known)
	`}
}

// runSort compares SORT. redis-server looks at an errno that nobody has reset before it reads numbers, so that after an
// overflow anywhere it may refuse what it took before; it is given our result then.
func runSort(p *pair, t rapid.TB, conn int, args []string) {
	ours, theirs := p.both(t, conn, args...)
	if theirs.IsError("ERR One or more scores can't be converted into double") && ours.Kind != reply.Error {
		for i := 3; i < len(args); i++ {
			if strings.EqualFold(args[i-1], "STORE") {
				p.giveOurs(t, conn, args[i])
			}
		}
		return
	}
	if !sameReply(exactly, ours, theirs) {
		p.differ(t, ours, theirs)
	}
}
