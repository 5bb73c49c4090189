package tests

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// This file draws the commands that clients send during a storm: writes of every type that redis-server 7.0 knows too.

// stormCommands are templates: a word in braces is drawn anew each time. What stands before the first bar is how often a
// template is taken.
const stormCommands = `
20|SET {str} {val}
6|SET {str} {val} PX {ms}
4|SET {str} {int}
3|SETEX {str} {sec} {val}
3|GETEX {str} PX {ms}
2|GETDEL {str}
4|APPEND {str} {val}
3|SETRANGE {str} {small} {val}
4|SETBIT {str} {small} {bit}
2|BITOP XOR {str} {str} {str}
3|BITFIELD {str} INCRBY u8 {small} {int}
5|INCRBY {num} {int}
4|INCRBYFLOAT {num} {float}
3|MSET {str} {val} {str} {val}
5|LPUSH {list} {val} {val}
5|RPUSH {list} {val} {val} {val}
3|LPOP {list}
3|RPOP {list} {small}
2|RPOPLPUSH {list} {list}
2|LMOVE {list} {list} LEFT RIGHT
2|LINSERT {list} BEFORE {val} {val}
2|LSET {list} 0 {val}
2|LREM {list} 1 {val}
2|LTRIM {list} 0 {small}
8|HSET {hash} {field} {val} {field} {val}
3|HDEL {hash} {field} {field}
3|HINCRBY {hash} n {int}
3|HINCRBYFLOAT {hash} f {float}
6|SADD {set} {member} {member} {member}
6|SADD {set} {int} {int}
3|SREM {set} {member}
5|SPOP {set}
2|SPOP {set} {small}
2|SMOVE {set} {set} {member}
2|SUNIONSTORE {set} {set} {set}
2|SDIFFSTORE {set} {set} {set}
6|ZADD {zset} {half} {member} {half} {member}
3|ZINCRBY {zset} {half} {member}
2|ZPOPMIN {zset} 2
2|ZREMRANGEBYRANK {zset} 0 {small}
2|ZRANGESTORE {zset} {zset} 0 {small}
2|ZUNIONSTORE {zset} 2 {zset} {zset}
6|XADD {stream} * {field} {val} {field} {val}
3|XADD {stream} MAXLEN ~ 100 * {field} {val}
2|XTRIM {stream} MAXLEN {small}
2|XGROUP CREATE {stream} {group} 0 MKSTREAM
3|XREADGROUP GROUP {group} c COUNT 3 STREAMS {stream} >
2|XAUTOCLAIM {stream} {group} d 0 0
3|PFADD {hll} {member} {member}
1|PFMERGE {hll} {hll} {hll}
3|GEOADD {geo} {lon} {lat} {member}
1|GEOSEARCHSTORE {geo} {geo} FROMLONLAT 1 1 BYRADIUS 500 km
3|DEL {any} {any}
3|UNLINK {any}
4|PEXPIRE {any} {ms}
2|EXPIREAT {any} {future}
2|PERSIST {any}
2|RENAME {any} {any}
2|COPY {any} {any} REPLACE
1|MOVE {any} 1
1|SORT {list} ALPHA STORE {list}
2|SELECT {db}
3|EVAL {script} 2 {set} {str}
1|FUNCTION LOAD REPLACE {library}
2|PUBLISH channel {val}
`

// stormScripts change what a random member is: their effects, not the scripts, must reach replicas.
const (
	stormScript = `local m = redis.call('SPOP', KEYS[1]) or 'none'
redis.call('SET', KEYS[2], m .. redis.call('TIME')[2])
redis.call('EXPIRE', KEYS[2], 2)
redis.call('HSET', 'hash:script', m, 'x')
return redis.call('SRANDMEMBER', KEYS[1])`
	stormLibrary = "#!lua name=storm\nredis.register_function('f', function() return '%d' end)"
)

// stormTemplate is a row of stormCommands.
type stormTemplate struct {
	weight int
	words  []string
}

func stormTemplates() (list []stormTemplate, total int) {
	for line := range strings.Lines(strings.TrimSpace(stormCommands)) {
		weight, words, _ := strings.Cut(strings.TrimSpace(line), "|")
		n, err := strconv.Atoi(weight)
		if err != nil {
			panic(line)
		}
		list, total = append(list, stormTemplate{n, strings.Fields(words)}), total+n
	}
	return list, total
}

// stormDraw draws the commands of one client.
type stormDraw struct {
	*rand.Rand
	list  []stormTemplate
	total int
}

func newStormDraw(seed uint64, client int) *stormDraw {
	d := &stormDraw{Rand: rand.New(rand.NewPCG(seed, uint64(client)))}
	d.list, d.total = stormTemplates()
	return d
}

// next is one command.
func (d *stormDraw) next() []string {
	at := d.IntN(d.total)
	for _, t := range d.list {
		if at -= t.weight; at < 0 {
			words := make([]string, len(t.words))
			for i, w := range t.words {
				words[i] = d.word(w)
			}
			return words
		}
	}
	panic("unreachable")
}

// batch is what a client sends in one go: one command, several, or a transaction.
func (d *stormDraw) batch() (list [][]string) {
	n := 1
	if d.IntN(3) == 0 {
		n = 1 + d.IntN(20)
	}
	for range n {
		list = append(list, d.next())
	}
	if d.IntN(8) == 0 {
		list = append(append([][]string{{"MULTI"}}, list...), []string{"EXEC"})
	}
	return list
}

// big is a batch that fills one collection with many elements.
func (d *stormDraw) big() (list [][]string) {
	n := strconv.Itoa(d.IntN(3))
	if d.IntN(4) == 0 { // what is too big to be summed up in time tells nothing
		return [][]string{{"DEL", "list:big" + n}, {"UNLINK", "set:big" + n, "hash:big" + n}, {"DEL", "zset:big" + n}}
	}
	for range 20 {
		for _, words := range [][]string{{"RPUSH", "list:big" + n}, {"SADD", "set:big" + n}, {"HSET", "hash:big" + n}, {"ZADD", "zset:big" + n}} {
			for i := range 100 {
				if words[0] == "ZADD" {
					words = append(words, strconv.Itoa(i))
				}
				words = append(words, strconv.Itoa(d.IntN(1<<30)))
				if words[0] == "HSET" {
					words = append(words, d.word("{val}"))
				}
			}
			list = append(list, words)
		}
	}
	return list
}

// word draws what a template asks for.
func (d *stormDraw) word(w string) string {
	name, isDrawn := strings.CutPrefix(w, "{")
	if !isDrawn {
		return w
	}
	name = strings.TrimSuffix(name, "}")
	number := func(n int) string { return strconv.Itoa(d.IntN(n)) }
	switch name {
	case "val":
		return strings.Repeat(string(rune('a'+d.IntN(26))), 1<<d.IntN(10)+d.IntN(8))
	case "int":
		return strconv.Itoa(d.IntN(2000) - 1000)
	case "small":
		return number(60)
	case "bit":
		return number(2)
	case "db":
		return number(3)
	case "ms":
		return strconv.Itoa(1 + d.IntN(3000))
	case "sec":
		return strconv.Itoa(1 + d.IntN(100))
	case "future":
		return strconv.Itoa(4_000_000_000 + d.IntN(1000))
	case "float", "half":
		return strconv.FormatFloat(float64(d.IntN(400)-200)/2, 'f', 1, 64)
	case "lon", "lat":
		return fmt.Sprint(d.IntN(50))
	case "field", "member":
		return name + number(200)
	case "script":
		return stormScript
	case "library":
		return fmt.Sprintf(stormLibrary, d.IntN(100))
	case "any":
		name = []string{"str", "num", "list", "hash", "set", "zset", "stream", "hll", "geo"}[d.IntN(9)]
	}
	return name + ":" + number(30)
}
