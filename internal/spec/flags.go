package spec

import (
	"math/bits"
	"strings"
)

// Flag is a set of command flags. The order of the bits is the order in which COMMAND INFO names them.
type Flag uint64

// The flags of a command. Those after AllowBusy are known to the server but never shown to a client.
const (
	Write Flag = 1 << iota
	ReadOnly
	DenyOOM
	Module
	Admin
	PubSub
	NoScript
	Blocking
	Loading
	Stale
	SkipMonitor
	SkipSlowlog
	Asking
	Fast
	NoAuth
	NoMandatoryKeys
	NoAsyncLoading
	NoMulti
	MovableKeys
	AllowBusy
	MayReplicate
	Protected
	TouchesArbitraryKeys
)

// shownFlags are the flags that COMMAND INFO tells.
const shownFlags = AllowBusy<<1 - 1

var flagNames = [...]string{
	"write", "readonly", "denyoom", "module", "admin", "pubsub", "noscript", "blocking", "loading", "stale",
	"skip_monitor", "skip_slowlog", "asking", "fast", "no_auth", "no_mandatory_keys", "no_async_loading", "no_multi",
	"movablekeys", "allow_busy", "may_replicate", "protected", "touches_arbitrary_keys",
}

// String names the flags in f, separated by spaces.
func (f Flag) String() string { return joinNames(uint64(f), flagNames[:]) }

// Category is a set of ACL categories. The order of the bits is the order in which ACL CAT names them.
type Category uint64

// The ACL categories.
const (
	CatKeyspace Category = 1 << iota
	CatRead
	CatWrite
	CatSet
	CatSortedSet
	CatList
	CatHash
	CatString
	CatBitmap
	CatHyperLogLog
	CatGeo
	CatStream
	CatPubSub
	CatAdmin
	CatFast
	CatSlow
	CatBlocking
	CatDangerous
	CatConnection
	CatTransaction
	CatScripting
)

var categoryNames = [...]string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream",
	"pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
}

// String names the categories in c, separated by spaces, without the @.
func (c Category) String() string { return joinNames(uint64(c), categoryNames[:]) }

// CategoryNames returns the names of all categories, without the @, in the order of ACL CAT.
func CategoryNames() []string {
	return append([]string(nil), categoryNames[:]...)
}

// CategoryByName finds a category by its name without the @, in any case.
func CategoryByName(name []byte) (Category, bool) {
	for i, known := range categoryNames {
		if equalFold(name, known) {
			return 1 << i, true
		}
	}
	return 0, false
}

// KeyFlag says how a command uses a key. The order of the bits is the order in which COMMAND GETKEYSANDFLAGS names them.
type KeyFlag uint16

// What happens to the key as a whole (one of the first four), what happens to the data in it, and what the finder of keys
// has to know.
const (
	KeyRO KeyFlag = 1 << iota
	KeyRW
	KeyOW
	KeyRM
	KeyAccess
	KeyUpdate
	KeyInsert
	KeyDelete
	KeyNotKey
	KeyIncomplete
	KeyVariableFlags
)

var keyFlagNames = [...]string{
	"RO", "RW", "OW", "RM", "access", "update", "insert", "delete", "not_key", "incomplete", "variable_flags",
}

// String names the flags in f, separated by spaces.
func (f KeyFlag) String() string { return joinNames(uint64(f), keyFlagNames[:]) }

// ChannelFlag says how a command uses the channels among its arguments.
type ChannelFlag uint8

// The uses of channels.
const (
	ChannelPattern ChannelFlag = 1 << iota
	ChannelSubscribe
	ChannelUnsubscribe
	ChannelPublish
)

var channelFlagNames = [...]string{"pattern", "subscribe", "unsubscribe", "publish"}

// String names the flags in f, separated by spaces.
func (f ChannelFlag) String() string { return joinNames(uint64(f), channelFlagNames[:]) }

// ArgFlag is a set of properties of an argument.
type ArgFlag uint8

// The properties of an argument. The first three are shown by COMMAND DOCS.
const (
	ArgOptional ArgFlag = 1 << iota
	ArgMultiple
	ArgMultipleToken // the token is repeated with each value
	ArgHasToken      // Token counts, even if it is empty
)

const shownArgFlags = ArgOptional | ArgMultiple | ArgMultipleToken

var argFlagNames = [...]string{"optional", "multiple", "multiple_token"}

// ArgType is the type of an argument.
type ArgType uint8

// The types of arguments.
const (
	ArgString ArgType = iota
	ArgInteger
	ArgDouble
	ArgKey
	ArgPattern
	ArgUnixTime
	ArgPureToken
	ArgOneOf // exactly one of Args
	ArgBlock // all of Args in their order
)

var argTypeNames = [...]string{
	"string", "integer", "double", "key", "pattern", "unix-time", "pure-token", "oneof", "block",
}

// String names the type as COMMAND DOCS does.
func (t ArgType) String() string { return argTypeNames[t] }

// joinNames spells out a bit set; bit i has the name names[i].
func joinNames(set uint64, names []string) string {
	parts := make([]string, 0, bits.OnesCount64(set))
	for ; set != 0; set &= set - 1 {
		parts = append(parts, names[bits.TrailingZeros64(set)])
	}
	return strings.Join(parts, " ")
}

// parseNames is the reverse of joinNames; bad is the first word that no bit has.
func parseNames(text string, names []string) (set uint64, bad string) {
	for word := range strings.FieldsSeq(text) {
		bit := indexOf(names, word)
		if bit < 0 {
			return 0, word
		}
		set |= 1 << bit
	}
	return set, ""
}

func indexOf(names []string, word string) int {
	for i, name := range names {
		if name == word {
			return i
		}
	}
	return -1
}
