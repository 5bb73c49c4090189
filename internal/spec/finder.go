package spec

// finder names the code that finds the keys of a command whose key specs do not suffice: keys may stand where no spec can
// tell, or how they are used depends on the options.
type finder uint8

const (
	finderNone finder = iota
	finderNumKeys
	finderNumKeysStore
	finderSort
	finderSortRO
	finderMigrate
	finderGeoRadius
	finderXRead
	finderSet
	finderBitField
)

// finderNames are the names in the data files.
var finderNames = [...]string{
	"none", "numkeys", "numkeys_store", "sort", "sort_ro", "migrate", "georadius", "xread", "set", "bitfield",
}

// What the finders below find. Finders of commands with complete specs are asked only when these did not fit; then nothing is
// known about the use of the keys.
const (
	useUnknown KeyFlag = 0
	useRead            = KeyRO | KeyAccess
	useStore           = KeyOW | KeyUpdate
	useChange          = KeyRW | KeyAccess | KeyUpdate
	useMove            = KeyRW | KeyAccess | KeyDelete
)

// find appends the keys that the finder sees; none if the arguments are going to be refused.
func (f finder) find(r *Row, args [][]byte, dst []KeyRef) []KeyRef {
	if len(args) < 2 {
		return dst
	}
	switch f {
	case finderNumKeys, finderNumKeysStore:
		return findNumKeys(r, args, dst, f == finderNumKeysStore)
	case finderSort:
		return findSort(args, dst)
	case finderSortRO:
		return append(dst, KeyRef{1, useRead})
	case finderMigrate:
		return findMigrate(args, dst)
	case finderGeoRadius:
		return findGeoRadius(args, dst)
	case finderXRead:
		return findXRead(args, dst)
	case finderSet:
		return append(dst, KeyRef{1, setUse(args)})
	case finderBitField:
		return append(dst, KeyRef{1, bitFieldUse(args)})
	}
	return dst
}

// findNumKeys finds "numkeys key [key ...]". It reads the number as leniently as Redis does here (" 2x" is 2), but never
// believes more than there is. The target of a store comes last.
func findNumKeys(r *Row, args [][]byte, dst []KeyRef, store bool) []KeyRef {
	spec := &r.KeySpecs[len(r.KeySpecs)-1]
	at := spec.Index + spec.NumberAt
	if at >= len(args) {
		return dst
	}
	first := spec.Index + spec.First
	n := leadingInt(args[at])
	if n < 1 || n > len(args)-first {
		return dst
	}
	for i := range n {
		dst = append(dst, KeyRef{first + i, useUnknown})
	}
	if store {
		dst = append(dst, KeyRef{1, useUnknown})
	}
	return dst
}

// leadingIntMax bounds what leadingInt returns; it is above any number of arguments.
const leadingIntMax = 1 << 31

// leadingInt reads the number a text begins with, after any space; 0 if there is none.
func leadingInt(text []byte) int {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] >= '\t' && text[i] <= '\r') {
		i++
	}
	negative := i < len(text) && text[i] == '-'
	if negative || i < len(text) && text[i] == '+' {
		i++
	}
	n := 0
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		n = min(10*n+int(text[i]-'0'), leadingIntMax)
	}
	if negative {
		return -n
	}
	return n
}

// findSort finds the sorted key and the target of the last STORE. Every option hides what follows it: a target may be named
// as an option is (redis-server looks at it again when it checks access, and not when it stores).
func findSort(args [][]byte, dst []KeyRef) []KeyRef {
	dst = append(dst, KeyRef{1, useRead})
	target := 0
	for i := 2; i < len(args); i++ {
		switch arg := args[i]; {
		case equalFold(arg, "limit"):
			i += 2
		case equalFold(arg, "get"), equalFold(arg, "by"):
			i++
		case equalFold(arg, "store") && i+1 < len(args):
			i++
			target = i
		}
	}
	if target != 0 {
		dst = append(dst, KeyRef{target, useStore})
	}
	return dst
}

const (
	migrateKeyAt     = 3
	migrateOptionsAt = 6
)

// findMigrate finds the one key of the plain form, or those behind KEYS. A password may be "keys" too.
func findMigrate(args [][]byte, dst []KeyRef) []KeyRef {
	for i := migrateOptionsAt; i < len(args); i++ {
		switch arg := args[i]; {
		case equalFold(arg, "auth"):
			i++
		case equalFold(arg, "auth2"):
			i += 2
		case equalFold(arg, "keys"):
			if len(args[migrateKeyAt]) != 0 {
				return dst // both forms at once
			}
			for pos := i + 1; pos < len(args); pos++ {
				dst = append(dst, KeyRef{pos, useMove})
			}
			return dst
		}
	}
	if len(args) <= migrateKeyAt {
		return dst
	}
	return append(dst, KeyRef{migrateKeyAt, useMove})
}

const geoRadiusOptionsAt = 5

// findGeoRadius finds the index and the target of the last STORE or STOREDIST.
func findGeoRadius(args [][]byte, dst []KeyRef) []KeyRef {
	dst = append(dst, KeyRef{1, useUnknown})
	target := 0
	for i := geoRadiusOptionsAt; i+1 < len(args); i++ {
		if equalFold(args[i], "store") || equalFold(args[i], "storedist") {
			target = i + 1
			i++
		}
	}
	if target != 0 {
		dst = append(dst, KeyRef{target, useUnknown})
	}
	return dst
}

// findXRead finds the first half of what follows STREAMS, which may also be the name of a group, a consumer or a stream.
func findXRead(args [][]byte, dst []KeyRef) []KeyRef {
	first := 0
	for i := 1; i < len(args) && first == 0; i++ {
		switch arg := args[i]; {
		case equalFold(arg, "block"), equalFold(arg, "count"):
			i++
		case equalFold(arg, "group"):
			i += 2
		case equalFold(arg, "noack"):
		case equalFold(arg, "streams"):
			first = i + 1
		default:
			return dst
		}
	}
	n := len(args) - first
	if first == 0 || n%2 != 0 {
		return dst
	}
	for pos := first; pos < first+n/2; pos++ {
		dst = append(dst, KeyRef{pos, useUnknown})
	}
	return dst
}

// setUse says how SET uses its key: with GET it is read as well.
func setUse(args [][]byte) KeyFlag {
	for _, arg := range args[min(3, len(args)):] {
		if len(arg) == 3 && equalFold(arg, "get") {
			return useChange
		}
	}
	return useStore
}

// bitFieldUse says how BITFIELD uses its key: it only reads while all operations are GET. What cannot be understood counts as
// a write.
func bitFieldUse(args [][]byte) KeyFlag {
	for i := 2; i < len(args); i++ {
		left := len(args) - i - 1
		switch arg := args[i]; {
		case equalFold(arg, "get") && left >= 2:
			i += 2
		case equalFold(arg, "overflow") && left >= 1:
			i++
		default:
			return useChange
		}
	}
	return useRead
}
