package tests

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

const binaryText = "a\x00b\r\n\xff\xfe{}"

// fillAllTypes makes keys of every type, small ones and big ones, some with a time to live; each name starts with prefix.
func fillAllTypes(t testing.TB, c *testkit.Client, prefix string) {
	t.Helper()
	big := strings.Repeat("0123456789", 3000)
	do := func(args ...string) {
		args[1] = prefix + args[1]
		c.OK(t, args...)
	}
	fillStrings(t, c, prefix)
	do("RPUSH", "list", "a", binaryText, "12345", "-1", "")
	do("RPUSH", "biglist", big, "x", big)
	do("SADD", "intset", "1", "2", "-70000", "9223372036854775807")
	do("SADD", "set", "a", "b", binaryText)
	do("SADD", "bigset", big, "x")
	do("HSET", "hash", "f", "v", binaryText, "w", "n", "10")
	do("HSET", "bighash", "f", big, "g", "x")
	do("ZADD", "zset", "1.5", "a", "-inf", "b", "inf", "c", "0.1", binaryText)
	do("ZADD", "bigzset", "1", big, "2", "x")
	for i := range 600 { // more than any compact form holds
		n := strconv.Itoa(i)
		do("RPUSH", "longlist", "element "+n)
		do("SADD", "longset", "member "+n)
		do("HSET", "longhash", "field "+n, n)
		do("ZADD", "longzset", n+".25", "member "+n)
	}
	do("PFADD", "hll", "a", "b", "c")
	fillStream(t, c, prefix+"stream")
	do("PEXPIREAT", "hash", "4102444800000")
	do("PEXPIREAT", "longlist", "4102444800001")
}

func fillStrings(t testing.TB, c *testkit.Client, prefix string) {
	t.Helper()
	for name, value := range map[string]string{
		"string": "hello", "empty": "", "int": "-1234567890123", "binary": binaryText, binaryText: "name",
		"bigstring": strings.Repeat("abc", 100_000), "compressible": strings.Repeat("a", 500),
	} {
		c.OK(t, "SET", prefix+name, value)
	}
	c.OK(t, "SET", prefix+"ttl", "v", "PXAT", "4102444800000")
}

func fillStream(t testing.TB, c *testkit.Client, key string) {
	t.Helper()
	for i := range 250 {
		c.OK(t, "XADD", key, fmt.Sprintf("%d-1", i+1), "f", "v"+strconv.Itoa(i), binaryText, "x")
	}
	c.OK(t, "XDEL", key, "5-1")
	c.OK(t, "XGROUP", "CREATE", key, "g", "0")
	c.OK(t, "XGROUP", "CREATE", key, "idle", "7-1")
	c.OK(t, "XREADGROUP", "GROUP", "g", "alice", "COUNT", "3", "STREAMS", key, ">")
	c.OK(t, "XREADGROUP", "GROUP", "g", "bob", "COUNT", "2", "STREAMS", key, ">")
	c.OK(t, "XACK", key, "g", "2-1")
}

// contents reads all keys of the selected database: type, time of expiry and content, in a form that two servers with the
// same data agree on.
func contents(t testing.TB, c *testkit.Client) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range c.OK(t, "KEYS", "*").Strings() {
		kind := c.OK(t, "TYPE", key).Text
		all[key] = fmt.Sprintf("%s %s %s", kind, c.OK(t, "PEXPIRETIME", key), content(t, c, kind, key))
	}
	return all
}

func content(t testing.TB, c *testkit.Client, kind, key string) string {
	t.Helper()
	switch kind {
	case "string":
		return c.OK(t, "GET", key).Text
	case "list":
		return fmt.Sprintf("%q", c.OK(t, "LRANGE", key, "0", "-1").Strings())
	case "set":
		members := c.OK(t, "SMEMBERS", key).Strings()
		slices.Sort(members)
		return fmt.Sprintf("%q", members)
	case "hash":
		return sortedPairs(c.OK(t, "HGETALL", key))
	case "zset":
		return fmt.Sprintf("%q", c.OK(t, "ZRANGE", key, "0", "-1", "WITHSCORES").Strings())
	case "stream":
		return streamContent(t, c, key)
	case "none": // a key that went meanwhile
		return ""
	}
	t.Fatalf("%q has type %s", key, kind)
	return ""
}

func sortedPairs(v reply.Value) string {
	var pairs []string
	for i := 0; i+1 < len(v.Items); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%q=%q", v.Items[i].Text, v.Items[i+1].Text))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

// streamContent leaves out what depends on the clock: idle times.
func streamContent(t testing.TB, c *testkit.Client, key string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(c.OK(t, "XRANGE", key, "-", "+").String())
	info := c.OK(t, "XINFO", "STREAM", key)
	for _, name := range []string{"last-generated-id", "max-deleted-entry-id", "entries-added"} {
		field, _ := info.Field(name)
		fmt.Fprintf(&b, " %s=%v", name, field)
	}
	for _, group := range c.OK(t, "XINFO", "GROUPS", key).Items {
		name, _ := group.Field("name")
		last, _ := group.Field("last-delivered-id")
		read, _ := group.Field("entries-read")
		fmt.Fprintf(&b, " group %v %v %v", name, last, read)
		for _, pending := range c.OK(t, "XPENDING", key, name.Text, "-", "+", "1000").Items {
			fmt.Fprintf(&b, " %v/%v/%v", pending.Items[0], pending.Items[1], pending.Items[3])
		}
	}
	return b.String()
}

// same compares the contents of two databases, or of one at two times.
func same(got, want map[string]string) error {
	for key, value := range want {
		if other, ok := got[key]; !ok || other != value {
			return fmt.Errorf("key %q (there: %t): %.300q, want %.300q", key, ok, other, value)
		}
	}
	for key, value := range got {
		if _, ok := want[key]; !ok {
			return fmt.Errorf("key %q should not be there: %.300q", key, value)
		}
	}
	return nil
}

// moved is what contents becomes when keys travel with their remaining time to live: the time of expiry to the second.
func moved(all map[string]string) map[string]string {
	rounded := map[string]string{}
	for key, value := range all {
		words := strings.SplitN(value, " ", 3)
		if at, err := strconv.ParseInt(strings.TrimPrefix(words[1], ":"), 10, 64); err == nil && at > 0 {
			words[1] = fmt.Sprintf("%.0f s", float64(at)/1000)
		}
		rounded[key] = strings.Join(words, " ")
	}
	return rounded
}

// sameData waits until the replica holds what the primary holds.
func sameData(t testing.TB, primary, replica *testkit.Client) {
	t.Helper()
	testkit.Eventually(t, testkit.Patience, func() error { return same(contents(t, replica), contents(t, primary)) })
}
