package compat

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// comparison is how two replies are the same.
type comparison uint8

const (
	exactly       comparison = iota
	anyOrder                 // the items, or in a map the pairs, come in any order
	anyPairs                 // a flat list of pairs in any order
	times                    // numbers are times and may differ by timeSlack
	kindOnly                 // nothing but the kind has to be the same
	streamFigures            // the fields that streamTimes names are left out
)

// timeSlack is by how many milliseconds times may differ that two servers compute one after the other.
const timeSlack = 30000

// comparisonOf is how the replies of a command are compared. What is not named here is compared exactly.
func comparisonOf(name string, args []string) comparison {
	switch name {
	case "KEYS", "SMEMBERS", "SINTER", "SUNION", "SDIFF", "HKEYS", "HVALS":
		return anyOrder
	case "HGETALL":
		return anyPairs
	case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "HTTL", "HPTTL", "HEXPIRETIME", "HPEXPIRETIME":
		return times
	case "OBJECT":
		if len(args) > 1 && strings.EqualFold(args[1], "IDLETIME") {
			return times
		}
		if len(args) > 1 && strings.EqualFold(args[1], "REFCOUNT") {
			return kindOnly
		}
	case "XINFO", "XPENDING":
		return streamFigures
	}
	return exactly
}

func sameReply(how comparison, a, b reply.Value) bool {
	if a.Kind != b.Kind || len(a.Items) != len(b.Items) {
		return false
	}
	switch {
	case how == kindOnly:
		return true
	case how == streamFigures:
		return sameReply(exactly, withoutTimes(a), withoutTimes(b))
	case how == times && a.Kind == reply.Int && a.Int >= 0 && b.Int >= 0:
		return a.Int-b.Int < timeSlack && b.Int-a.Int < timeSlack
	case len(a.Items) == 0:
		return a.Text == b.Text && a.Int == b.Int
	}
	x, y := a.Items, b.Items
	switch how {
	case anyOrder:
		x, y = sortedItems(x), sortedItems(y)
	case anyPairs:
		x, y = sortedPairs(x), sortedPairs(y)
	}
	for i := range x {
		if !sameReply(how, x[i], y[i]) {
			return false
		}
	}
	return true
}

func sortedItems(list []reply.Value) []reply.Value {
	list = append([]reply.Value(nil), list...)
	sortItems(list)
	return list
}

func sortItems(list []reply.Value) {
	sort.Slice(list, func(i, j int) bool { return list[i].String() < list[j].String() })
}

func sortedPairs(list []reply.Value) []reply.Value {
	if len(list)%2 != 0 {
		return list
	}
	order := make([]int, len(list)/2)
	for i := range order {
		order[i] = 2 * i
	}
	sort.Slice(order, func(i, j int) bool { return list[order[i]].Text < list[order[j]].Text })
	var out []reply.Value
	for _, i := range order {
		out = append(out, list[i], list[i+1])
	}
	return out
}

// special runs a command on both servers that cannot be compared by its replies alone.
type special func(p *pair, t rapid.TB, conn int, args []string)

// specialOf is the special of a command, nil if it has none.
func specialOf(args []string) special {
	switch strings.ToUpper(args[0]) {
	case "SPOP":
		return runSPop
	case "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER":
		return runRandom
	case "RANDOMKEY":
		return runRandomKey
	case "SCAN", "SSCAN", "HSCAN", "ZSCAN":
		return runScan
	case "CARRY":
		return runCarry
	case "PFADD":
		return runPFAdd
	case "SORT", "SORT_RO":
		return runSort
	case "XSETID":
		return runXSetID
	case "XREADGROUP", "XCLAIM", "XAUTOCLAIM":
		return runConsumer
	}
	return nil
}

// must sends a command to one server and returns its reply.
func (p *pair) must(t rapid.TB, s *side, conn int, args ...string) reply.Value {
	v, err := s.conns[conn].Try(args...)
	if err != nil {
		t.Fatalf("%s: %s: %v%s", s.name, shown(args), err, p.story())
	}
	return v
}

// giveOurs makes a key of the other server what it is in the server under test.
func (p *pair) giveOurs(t rapid.TB, conn int, key string) {
	if dump := p.must(t, &p.sut, conn, "DUMP", key); dump.Kind == reply.Bulk {
		at := max(0, p.must(t, &p.sut, conn, "PEXPIRETIME", key).Int)
		p.must(t, &p.redis, conn, "RESTORE", key, strconv.FormatInt(at, 10), dump.Text, "REPLACE", "ABSTTL")
		return
	}
	p.must(t, &p.redis, conn, "DEL", key)
}

// runSPop lets the server under test choose, and takes the same members from the other.
func runSPop(p *pair, t rapid.TB, conn int, args []string) {
	before := p.must(t, &p.redis, conn, "SCARD", args[min(1, len(args)-1)])
	ours := p.must(t, &p.sut, conn, args...)
	members := ours.Strings()
	if ours.Kind == reply.Bulk {
		members = []string{ours.Text}
	}
	if len(members) == 0 {
		if theirs := p.must(t, &p.redis, conn, args...); !sameReply(exactly, ours, theirs) {
			p.differ(t, ours, theirs)
		}
		return
	}
	want := int64(1)
	if len(args) > 2 {
		want, _ = strconv.ParseInt(args[2], 10, 64)
		want = min(want, before.Int)
	}
	taken := p.must(t, &p.redis, conn, append([]string{"SREM", args[1]}, members...)...)
	if int64(len(members)) != want || taken.Int != want || (ours.Kind == reply.Set) != (len(args) > 2 && conn == 1) {
		p.differ(t, ours, "takes "+strconv.FormatInt(taken.Int, 10)+" of them")
	}
}

// runRandom checks that what was chosen is there, and that there is as much of it as the other server chose.
func runRandom(p *pair, t rapid.TB, conn int, args []string) {
	ours, theirs := p.both(t, conn, args...)
	if len(ours.Items) == 0 || len(theirs.Items) == 0 {
		if how := map[bool]comparison{true: kindOnly, false: exactly}[ours.Kind == reply.Bulk]; !sameReply(how, ours, theirs) {
			p.differ(t, ours, theirs)
		}
		if ours.Kind == reply.Bulk {
			p.checkMembers(t, conn, args, []string{ours.Text})
		}
		return
	}
	if !sameShape(ours, theirs) {
		p.differ(t, ours, theirs)
	}
	members := ours.Strings()
	withValues := len(args) > 3
	if nested := ours.Items[0].Kind == reply.Array; nested {
		members = members[:0]
		for _, pair := range ours.Items {
			members = append(members, pair.Items[0].Text, pair.Items[1].Text)
		}
	}
	if withValues {
		var names []string
		for i := 0; i < len(members); i += 2 {
			names = append(names, members[i])
		}
		members = names
	}
	p.checkMembers(t, conn, args, members)
}

// sameShape tells whether replies have the same kinds and lengths.
func sameShape(a, b reply.Value) bool {
	if a.Kind != b.Kind || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if !sameShape(a.Items[i], b.Items[i]) {
			return false
		}
	}
	return true
}

// checkMembers looks for what one server chose in the other; with a positive count nothing may come twice.
func (p *pair) checkMembers(t rapid.TB, conn int, args, members []string) {
	has := map[string]string{"SRANDMEMBER": "SISMEMBER", "HRANDFIELD": "HEXISTS", "ZRANDMEMBER": "ZSCORE"}[strings.ToUpper(args[0])]
	seen := map[string]bool{}
	for _, m := range members {
		v := p.must(t, &p.redis, conn, has, args[1], m)
		if v.IsNil() || v.Kind == reply.Int && v.Int == 0 {
			p.differ(t, reply.Quote(m)+" was chosen", "does not have it")
		}
		if seen[m] && len(args) > 2 && !strings.HasPrefix(args[2], "-") {
			p.differ(t, reply.Quote(m)+" was chosen twice", "")
		}
		seen[m] = true
	}
}

func runRandomKey(p *pair, t rapid.TB, conn int, args []string) {
	ours, theirs := p.both(t, conn, args...)
	if !sameReply(kindOnly, ours, theirs) || ours.Kind == reply.Error && ours.Text != theirs.Text {
		a, b := p.both(t, conn, "KEYS", "*")
		p.differ(t, ours.String()+" of "+a.String(), theirs.String()+" of "+b.String())
	}
	if ours.Kind == reply.Bulk && p.must(t, &p.redis, conn, "EXISTS", ours.Text).Int != 1 {
		p.differ(t, ours, "does not have it")
	}
}

const scanCallsMax = 10000

// runScan walks to the end on both servers and compares everything that was met.
func runScan(p *pair, t rapid.TB, conn int, args []string) {
	at := 2
	if strings.EqualFold(args[0], "SCAN") {
		at = 1
	}
	ours, theirs := p.both(t, conn, args...)
	if len(args) <= at || args[at] != "0" || len(ours.Items) != 2 || len(theirs.Items) != 2 {
		oneCursor := len(ours.Items) == 2 && len(theirs.Items) == 2  // somewhere in the middle: nothing is promised
		stricter := !p.older && theirs.IsError("ERR invalid cursor") // 8.0 takes nothing but digits
		if !oneCursor && !stricter && !sameReply(exactly, ours, theirs) {
			p.differ(t, ours, theirs)
		}
		return
	}
	width := 1
	if n := strings.ToUpper(args[0]); (n == "HSCAN" || n == "ZSCAN") && !slices.Contains(args, "NOVALUES") {
		width = 2
	}
	a, b := p.walk(t, &p.sut, conn, args, at, width), p.walk(t, &p.redis, conn, args, at, width)
	if a != b {
		p.differ(t, a, b)
	}
}

// walk scans to the end and returns what was met, each once, in order.
func (p *pair) walk(t rapid.TB, s *side, conn int, args []string, at, width int) string {
	args = append([]string(nil), args...)
	met := map[string]bool{}
	for range scanCallsMax {
		v := p.must(t, s, conn, args...)
		if p.older {
			v = shortFloats(args[0], v)
		}
		if len(v.Items) != 2 {
			t.Fatalf("%s: %s: %v%s", s.name, shown(args), v, p.story())
		}
		items := v.Items[1].Items
		for i := 0; i+width <= len(items); i += width {
			text := items[i].String()
			if width == 2 {
				text += " " + items[i+1].String()
			}
			met[text] = true
		}
		if args[at] = v.Items[0].Text; args[at] == "0" {
			var list []string
			for text := range met {
				list = append(list, text)
			}
			sort.Strings(list)
			return strings.Join(list, "\n")
		}
	}
	t.Fatalf("%s: %s does not end%s", s.name, shown(args), p.story())
	return ""
}

// runCarry is no command of the servers: CARRY from to takes the DUMP of a key from each server and restores it in both,
// ours under the name to, theirs under to with an exclamation mark.
func runCarry(p *pair, t rapid.TB, conn int, args []string) {
	if len(args) != 3 {
		return
	}
	ours, theirs := p.both(t, conn, "DUMP", args[1])
	if ours.Kind != theirs.Kind {
		p.differ(t, ours, theirs)
	}
	if ours.Kind != reply.Bulk {
		return
	}
	for i, from := range []reply.Value{ours, theirs} {
		a, b := p.both(t, conn, "RESTORE", args[2]+strings.Repeat("!", i), "0", from.Text, "REPLACE")
		if !sameReply(exactly, a, b) {
			p.differ(t, a, b)
		}
	}
	digest, _ := p.both(t, conn, "DEBUG", "DIGEST-VALUE", args[2])
	if other, _ := p.both(t, conn, "DEBUG", "DIGEST-VALUE", args[2]+"!"); !sameReply(exactly, digest, other) {
		p.differ(t, "CARRY does not keep the value", "")
	}
}
