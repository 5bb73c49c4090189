package bus_test

import "testing"

func TestSlotStats(t *testing.T) {
	n := start(t)
	n.want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", "0", "12183")
	n.mu.Lock()
	n.set.Core.RequireFullCoverage = false
	n.mu.Unlock()
	n.bus.SettingsChanged()
	n.soon(t, "+OK", "SET", "foo", "v") // in slot 12182
	n.want(t, "[[:12181 [\"key-count\" :0]] [:12182 [\"key-count\" :1]] [:12183 [\"key-count\" :0]]]", "CLUSTER", "SLOT-STATS", "SLOTSRANGE", "12181", "12184")
	n.want(t, "[[:12182 [\"key-count\" :1]] [:0 [\"key-count\" :0]]]", "CLUSTER", "SLOT-STATS", "ORDERBY", "key-count", "LIMIT", "2")
	n.want(t, "[[:0 [\"key-count\" :0]]]", "CLUSTER", "SLOT-STATS", "ORDERBY", "KEY-COUNT", "LIMIT", "1", "ASC")
	for text, words := range map[string][]string{
		"-ERR Unrecognized sort metric for ORDERBY.":                              {"ORDERBY", "cpu-usec"},
		"-ERR Invalid or out of range slot":                                       {"SLOTSRANGE", "0", "16384"},
		"-ERR Start slot number 2 is greater than end slot number 1":              {"SLOTSRANGE", "2", "1"},
		"-ERR Limit has to lie in between 1 and 16384 (maximum number of slots).": {"ORDERBY", "key-count", "LIMIT", "0"},
		"-ERR syntax error": {"SLOTSRANGE", "1"},
	} {
		n.want(t, text, append([]string{"CLUSTER", "SLOT-STATS"}, words...)...)
	}
	n.e.SlotStats.Enable(true)
	n.want(t, `"v"`, "GET", "foo")
	n.want(t, `[[:12182 ["key-count" :1 "cpu-usec" :<n> "network-bytes-in" :22 "network-bytes-out" :7]]]`, "CLUSTER", "SLOT-STATS", "ORDERBY", "network-bytes-in", "LIMIT", "1")
}
