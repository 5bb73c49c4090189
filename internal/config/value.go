// Values of directives, and how they are read by code.

package config

import "strings"

// Value is the value of a directive. It does not change, and neither may what its methods return.
type Value struct {
	text string // as CONFIG GET shows it
	num  int64  // Bool, all numbers, Enum, Flags, Events; a percentage is negative
	more any    // the other kinds: what the methods below return
}

// String is the value as CONFIG GET shows it.
func (v Value) String() string { return v.text }

// Bool is the value of a Bool.
func (v Value) Bool() bool { return v.num != 0 }

// Int is a Number, a Memory in bytes, an Octal, the Value of a Word, or a set of Events. A MemoryShare that is a percentage
// counts 0: see Percent.
func (v Value) Int() int64 {
	if _, ok := v.Percent(); ok {
		return 0
	}
	return v.num
}

// Percent is the share of a MemoryShare, if that is what it was given as.
func (v Value) Percent() (share int64, ok bool) {
	if strings.HasSuffix(v.text, "%") && v.num < 0 {
		return -v.num, true
	}
	return 0, false
}

// Strings are the Addresses.
func (v Value) Strings() []string { list, _ := v.more.([]string); return list }

// SavePoint asks for a snapshot when there were so many changes within so many seconds.
type SavePoint struct{ Seconds, Changes int64 }

// SavePoints are the pairs of a Save.
func (v Value) SavePoints() []SavePoint { list, _ := v.more.([]SavePoint); return list }

// BufferLimit bounds the replies that wait for a client: at once, or for so long. Zero is no limit.
type BufferLimit struct{ HardBytes, SoftBytes, SoftSeconds int64 }

// The classes of clients that have output buffer limits, as indices of Value.BufferLimits.
const (
	NormalClients = iota
	ReplicaClients
	PubsubClients
	clientClasses
)

// BufferLimits are the limits of a Buffers by client class.
func (v Value) BufferLimits() [clientClasses]BufferLimit {
	all, _ := v.more.([clientClasses]BufferLimit)
	return all
}

// Scores are the out-of-memory scores of a primary, of a replica and of a background process.
func (v Value) Scores() [3]int64 { all, _ := v.more.([3]int64); return all }

// Primary is the node to replicate from, if there is one.
func (v Value) Primary() (host string, port int, ok bool) {
	a, ok := v.more.(address)
	return a.host, a.port, ok
}

type address struct {
	host string
	port int
}

// Floats are the Percentiles.
func (v Value) Floats() []float64 { list, _ := v.more.([]float64); return list }

func textValue(s string) Value { return Value{text: s} }

// equal needs no look at more: text says the same.
func equal(a, b Value) bool { return a.text == b.text && a.num == b.num }

// The classes of keyspace events, as bits of an Events value.
const (
	EventKeyspace int64 = 1 << iota // K: published by key
	EventKeyevent                   // E: published by event
	EventGeneric                    // g
	EventString                     // $
	EventList                       // l
	EventSet                        // s
	EventHash                       // h
	EventZSet                       // z
	EventExpired                    // x
	EventEvicted                    // e
	EventStream                     // t
	EventMiss                       // m
	_                               // module-only class of Redis
	EventModule                     // d
	EventNew                        // n
	EventAll      = EventGeneric | EventString | EventList | EventSet | EventHash | EventZSet | EventExpired | EventEvicted |
		EventStream | EventModule // A
)

// The words of shutdown-on-sigint and shutdown-on-sigterm, as bits.
const (
	ShutdownSave int64 = 1 << iota
	ShutdownNoSave
	ShutdownNow
	ShutdownForce
)

// The words of enable-protected-configs, enable-debug-command and enable-module-command.
const (
	AllowNobody int64 = iota
	AllowLocal
	AllowAll
)
