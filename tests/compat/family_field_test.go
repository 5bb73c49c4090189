package compat

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/testkit"
)

// The family of hashes whose fields expire. It needs a redis-server that has HGETEX, HSETEX and HGETDEL.

// redis8 is a redis-server 8.0 or newer. Such a one is not installed as a rule: without a path the test is skipped, wherever
// it runs.
func redis8(t *testing.T) testkit.Binary {
	path := os.Getenv("COVEY_COMPAT_REDIS8")
	if path == "" {
		t.Skip("SKIPPED: COVEY_COMPAT_REDIS8 names no redis-server 8.0 to compare hashes whose fields expire with")
	}
	return inPlainOrder(testkit.Binary{Name: "redis-server 8", Path: testkit.Need(t, path)})
}

// fieldFamily has no fields whose time is over while they are there: see TestFieldsWhoseTimeIsOver. A small hash of
// redis-server that has lost all its expiries goes on as listpackex through DUMP, one of ours does not.
func fieldFamily() *family {
	return &family{name: "fields that expire", encodings: "listpackex", prelude: []string{"SET wrong text"}, configs: hashLimits(), table: `
		4 HSET key (field value)+
		  HSET key elements
		  HSETNX key field value
		4 HSETEX key [FNX | FXX] [EX seconds | PX millis | EXAT at | PXAT atms | KEEPTTL] pairs
		2 HSETEX key [EX seconds | PX millis | EXAT at | PXAT atms | KEEPTTL] [FNX | FXX | word] pairs
		4 HGETEX key [EX seconds | PX millis | EXAT at | PXAT atms | PERSIST] fields
		2 HGETDEL key fields
		3 HEXPIRE key seconds [NX | XX | GT | LT] fields
		3 HPEXPIRE key millis [NX | XX | GT | 'lt | word] fields
		2 HEXPIREAT key at [NX | XX | GT | LT] fields
		2 HPEXPIREAT key atms [NX | XX | GT | LT] fields
		2 HTTL key fields
		  HPTTL key fields
		  HEXPIRETIME key fields
		  HPEXPIRETIME key fields
		2 HPERSIST key fields
		2 EVAL call 1 key (HGETEX [EX seconds | PERSIST] | HEXPIRE seconds | HPERSIST | HGETDEL) fields
		  EVAL call 1 key HSETEX [FNX] [PX millis | KEEPTTL] pairs
		2 HDEL key (field)+
		  HMGET key (field)+
		2 HGETALL key
		  HKEYS key
		  HLEN key
		  HEXISTS key field
		2 HINCRBY key field amount
		2 HINCRBYFLOAT key field float
		  HRANDFIELD key [sample [WITHVALUES]]
		  HSCAN key 0 [MATCH pattern] [COUNT limit] [NOVALUES]
		2 CARRY key key
		  COPY key key REPLACE
		  RENAME key key
		  EXPIRE key seconds
		  DEL key
	`}
}

func addFieldGenerators(g map[string]func(d *draw) []string) {
	g["fields"] = func(d *draw) []string { return d.counted(func() []string { return []string{d.field()} }) }
	g["pairs"] = func(d *draw) []string { return d.counted(func() []string { return []string{d.field(), d.value()} }) }
	g["call"] = func(*draw) []string { return []string{"return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))"} }
}

// counted is FIELDS with a number, seldom the wrong one, and so many things.
func (d *draw) counted(thing func() []string) []string {
	n := rapid.IntRange(1, 4).Draw(d.T, "fields")
	wrong := []string{"0", "-1", "x", strconv.Itoa(n + 1), "2147483648", bigInt}
	args := []string{"FIELDS", d.pick("numfields", []string{strconv.Itoa(n)}, wrong)}
	for range n {
		args = append(args, thing()...)
	}
	return args
}

func TestFieldsThatExpire(t *testing.T) {
	p := newPair(t, redis8(t))
	setSequences(t)
	fieldFamily().test(t, p)
}

// TestFieldsWhoseTimeIsOver compares what commands make of fields that nobody has removed yet. Not asked is HSETEX with
// KEEPTTL alone: redis-server keeps the time that is over, so that the new value is not to be seen.
func TestFieldsWhoseTimeIsOver(t *testing.T) {
	p := newPair(t, redis8(t))
	p.asAdmin(t, "DEBUG", "SET-ACTIVE-EXPIRE", "0")
	for _, config := range hashLimits() {
		for line := range strings.Lines(`
			HMGET h a b c d
			HGET h a
			HGETEX h FIELDS 3 c a b
			HGETEX h EX 100 FIELDS 4 a b c d
			HGETEX h PERSIST FIELDS 3 a b c
			HGETEX h EXAT 1 FIELDS 3 a b c
			HGETDEL h FIELDS 3 c b a
			HGETDEL h FIELDS 1 a
			HSETEX h EX 100 FIELDS 2 a 1 b 2
			HSETEX h FNX EX 100 FIELDS 2 a 1 b 2
			HSETEX h FNX EX 100 FIELDS 3 a 1 b 2 c 3
			HSETEX h FXX EX 100 FIELDS 3 c 1 b 2 a 3
			HSETEX h FXX EX 100 FIELDS 1 a 3
			HSETEX h FNX KEEPTTL FIELDS 2 a 3 b 3
			HSETEX h FNX EXAT 1 FIELDS 2 a 3 b 3
			HEXPIRE h 100 FIELDS 3 a b c
			HEXPIRE h 100 GT FIELDS 3 a b c
			HEXPIRE h 0 FIELDS 3 a b c
			HPERSIST h FIELDS 3 a b c
			HTTL h FIELDS 3 a b c
			HPEXPIRETIME h FIELDS 3 a b c
			HSETNX h a 1
			HSET h a 1
			HINCRBY h a 1
			HINCRBYFLOAT h a 1
			HDEL h a b
			HSTRLEN h a
			HEXISTS h a
			HGETALL h
			HVALS h
			HLEN h
			HRANDFIELD h
			HRANDFIELD h 5
			HSCAN h 0
			HSCAN h 0 NOVALUES
			OBJECT ENCODING h
			COPY h {h}2
			RENAME h {h}2
		`) {
			if args := strings.Fields(line); len(args) > 0 {
				p.withFieldsOver(t, config, args)
			}
		}
	}
}

// withFieldsOver sends a command to hashes in which the time of one or all of the fields is over, and asks what there is then.
func (p *pair) withFieldsOver(t *testing.T, config, args []string) {
	const within, behind = 20 * time.Second, 2 * time.Millisecond
	for conn := range p.sut.conns {
		for over := 1; over <= 3; over++ {
			p.begin(t, &family{prelude: []string{"HSET h a 1 b 2 c 3", fmt.Sprintf("HPEXPIRE h 1 FIELDS %d %s", over, "a b c"[:2*over-1])}}, config)
			testkit.Eventually(t, within, func() error {
				ours, theirs := p.asAdmin(t, append([]string{"HPTTL", "h", "FIELDS", strconv.Itoa(over)}, strings.Fields("a b c")[:over]...)...)
				if last := over - 1; ours.Items[last].Int != -2 || theirs.Items[last].Int != -2 {
					return fmt.Errorf("they have %v and %v left", ours, theirs)
				}
				return nil
			})
			testkit.Elapse(behind) // at the very millisecond redis-server finds them still in place
			for _, next := range [][]string{args, {"HLEN", "h"}, {"HLEN", "{h}2"}, {"HKEYS", "h"}, {"HTTL", "h", "FIELDS", "3", "a", "b", "c"}, {"EXISTS", "h"}} {
				p.step(t, conn, next)
			}
		}
	}
}
