package compat

import (
	"math"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// This file holds what is different in a redis-server older than 7.2, the version whose behaviour is promised, and what we
// do otherwise on purpose.

// change is one difference: commands of that name may be answered otherwise. Where a difference is more than a reply, allowed
// is nil and another function makes up for it.
type change struct {
	command string
	reason  string
	allowed func(args []string, ours, theirs reply.Value) bool
}

// changes are the differences.
func changes() []change {
	return []change{
		// Since 7.2.
		{"OBJECT", "small lists are listpacks, small sets that are not all numbers, too; see also encodingSince70", func(_ []string, ours, theirs reply.Value) bool {
			return encodingSince70(ours.Text, theirs.Text)
		}},
		{"ZRANK", "WITHSCORE is new", moreThan(3)},
		{"ZREVRANK", "WITHSCORE is new", moreThan(3)},
		{"LPOS", "the lowest number is no RANK", func(_ []string, ours, _ reply.Value) bool {
			return ours.IsError("ERR value is out of range, value must between")
		}},
		{"XREAD", "the error names the command", bothErrors("ERR Unbalanced ")},
		{"XREADGROUP", "the error names the command; consumers are made even if there is nothing for them: runConsumer", bothErrors("ERR Unbalanced ")},
		{"XCLAIM", "consumers are made even if there is nothing for them: runConsumer", nil},
		{"XAUTOCLAIM", "consumers are made even if there is nothing for them: runConsumer", nil},
		{"XSETID", "the last ID must not be below one that was deleted: runXSetID", nil},
		{"XINFO", "consumers have the times inactive and active-time: withoutTimes", nil},
		{"Z*", "scores have as few digits as they need, not 17: shortFloats", nil},
		{"DEBUG", "so have they in the digest of a sorted set: sameButForScores", nil},
		// Otherwise in Covey than in any redis-server.
		{"PFADD", "a damaged HyperLogLog stays as it is, redis-server may add some of the elements: runPFAdd", nil},
		{"SORT", "redis-server looks at a stale errno: runSort; it leaves sorted sets as skiplists: family.encodings", nil},
		{"OBJECT", "REFCOUNT: which small numbers are shared depends on where they come from: comparisonOf", nil},
		{"GEOSEARCHSTORE", "STOREDIST: the last digit of a distance may differ, as between libraries of C: not asked", nil},
		{"LSET", "redis-server takes the low 32 bits of the position: the generator position", nil},
		{"XINFO", "lag and entries-read are those of later versions: timesOfStreams", nil},
	}
}

// moreThan allows any reply to a command with more than n words.
func moreThan(n int) func(args []string, ours, theirs reply.Value) bool {
	return func(args []string, _, _ reply.Value) bool { return len(args) > n }
}

// bothErrors allows two errors that begin alike.
func bothErrors(prefix string) func(args []string, ours, theirs reply.Value) bool {
	return func(_ []string, ours, theirs reply.Value) bool { return ours.IsError(prefix) && theirs.IsError(prefix) }
}

// changedSince70 tells whether a difference is a known one.
func changedSince70(args []string, ours, theirs reply.Value) bool {
	for _, c := range changes() {
		if c.allowed != nil && strings.EqualFold(c.command, args[0]) && c.allowed(args, ours, theirs) {
			return true
		}
	}
	return false
}

// encodingSince70 tells whether an encoding of 7.2 stands for one of 7.0. A set is made for as many members as SADD brings,
// with those that come twice, so that one that 7.0 has as an intset may be too big for that.
func encodingSince70(ours, theirs string) bool {
	return ours == "listpack" && (theirs == "quicklist" || theirs == "hashtable" || theirs == "intset")
}

// shortFloats turns the scores in a reply of 7.0, which have 17 digits, into the shortest form that 7.2 has.
func shortFloats(command string, v reply.Value) reply.Value {
	if command = strings.ToUpper(command); !strings.HasPrefix(command, "Z") && !strings.HasPrefix(command, "BZ") {
		return v
	}
	if v.Kind == reply.Bulk || v.Kind == reply.Double {
		f, err := strconv.ParseFloat(v.Text, 64)
		if err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) && string(num.AppendFixed17(nil, f)) == v.Text {
			v.Text = string(num.AppendFloat(nil, f))
		}
	}
	if len(v.Items) == 0 {
		return v
	}
	items := make([]reply.Value, len(v.Items))
	for i, item := range v.Items {
		items[i] = shortFloats(command, item)
	}
	v.Items = items
	return v
}

// runConsumer is for commands that make a consumer: since 7.2 even if there is nothing for it, so that an older one is given
// it afterwards.
func runConsumer(p *pair, t rapid.TB, conn int, args []string) {
	p.compare(t, conn, args)
	if !p.older || len(args) < 5 {
		return
	}
	keys, group, consumer := args[1:2], args[2], args[3]
	if strings.EqualFold(args[0], "XREADGROUP") {
		keys = args[4:]
	}
	for _, key := range keys {
		for _, known := range p.must(t, &p.sut, conn, "XINFO", "CONSUMERS", key, group).Items {
			if name, _ := known.Field("name"); name.Text == consumer {
				p.must(t, &p.redis, conn, "XGROUP", "CREATECONSUMER", key, group, consumer)
			}
		}
	}
}

// runXSetID compares XSETID: since 7.2 the last ID must not be below one that was deleted.
func runXSetID(p *pair, t rapid.TB, conn int, args []string) {
	const smaller = "ERR The ID specified in XSETID is smaller than "
	ours, theirs := p.both(t, conn, args...)
	if p.older && ours.IsError(smaller) && (theirs.Kind == reply.Status || theirs.IsError(smaller)) {
		p.giveOurs(t, conn, args[1])
		return
	}
	if !sameReply(exactly, ours, theirs) {
		p.differ(t, ours, theirs)
	}
}
