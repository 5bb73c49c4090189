package spec

import (
	"math/bits"

	"github.com/covey-db/covey/internal/resp"
)

// infoFields is the number of elements of an entry of COMMAND INFO.
const infoFields = 10

// AppendInfo appends the entry of a row in the replies of COMMAND and COMMAND INFO.
func AppendInfo(dst []byte, v resp.Version, r *Row) []byte {
	dst = resp.AppendArray(dst, infoFields)
	dst = resp.AppendBulkString(dst, r.Full)
	dst = resp.AppendInt(dst, int64(r.Arity))
	dst = appendNames(dst, v, uint64(r.Flags&shownFlags), "", flagNames[:])
	dst = resp.AppendInt(dst, int64(r.FirstKey))
	dst = resp.AppendInt(dst, int64(r.LastKey))
	dst = resp.AppendInt(dst, int64(r.Step))
	dst = appendNames(dst, v, uint64(r.Categories), "@", categoryNames[:])
	dst = resp.AppendSet(dst, v, len(r.Tips))
	for _, tip := range r.Tips {
		dst = resp.AppendBulkString(dst, tip)
	}
	dst = resp.AppendSet(dst, v, len(r.KeySpecs))
	for i := range r.KeySpecs {
		dst = appendKeySpec(dst, v, &r.KeySpecs[i])
	}
	if len(r.Subs) == 0 {
		return resp.AppendSet(dst, v, 0)
	}
	dst = resp.AppendArray(dst, len(r.Subs))
	for _, sub := range r.Subs {
		dst = AppendInfo(dst, v, sub)
	}
	return dst
}

// AppendKeyFlags appends the flags of a key as COMMAND GETKEYSANDFLAGS tells them.
func AppendKeyFlags(dst []byte, v resp.Version, f KeyFlag) []byte {
	return appendNames(dst, v, uint64(f), "", keyFlagNames[:])
}

// AppendDocs appends the documentation of a row as COMMAND DOCS tells it after the name.
func AppendDocs(dst []byte, v resp.Version, r *Row) []byte {
	texts := []struct{ name, value string }{
		{"summary", r.Summary},
		{"since", r.Since},
		{"group", r.Group},
		{"complexity", r.Complexity},
	}
	late := []struct{ name, value string }{
		{"deprecated_since", r.DeprecatedSince},
		{"replaced_by", r.ReplacedBy},
	}
	docFlags := r.docFlags()
	pairs := countTrue(docFlags != 0, len(r.History) > 0, len(r.Args) > 0, len(r.Subs) > 0)
	for _, text := range append(texts, late...) {
		pairs += countTrue(text.value != "")
	}
	dst = resp.AppendMap(dst, v, pairs)
	for _, text := range texts {
		dst = appendText(dst, text.name, text.value)
	}
	if docFlags != 0 {
		dst = resp.AppendBulkString(dst, "doc_flags")
		dst = appendNames(dst, v, docFlags, "", docFlagNames[:])
	}
	for _, text := range late {
		dst = appendText(dst, text.name, text.value)
	}
	if len(r.History) > 0 {
		dst = resp.AppendBulkString(dst, "history")
		dst = resp.AppendSet(dst, v, len(r.History))
		for _, change := range r.History {
			dst = resp.AppendArray(dst, 2)
			dst = resp.AppendBulkString(dst, change.Since)
			dst = resp.AppendBulkString(dst, change.Text)
		}
	}
	if len(r.Args) > 0 {
		dst = resp.AppendBulkString(dst, "arguments")
		dst = appendArgs(dst, v, r.Args)
	}
	if len(r.Subs) > 0 {
		dst = resp.AppendBulkString(dst, "subcommands")
		dst = resp.AppendMap(dst, v, len(r.Subs))
		for _, sub := range r.Subs {
			dst = resp.AppendBulkString(dst, sub.Full)
			dst = AppendDocs(dst, v, sub)
		}
	}
	return dst
}

var docFlagNames = [...]string{"deprecated", "syscmd"}

// docFlags is a set with the names docFlagNames.
func (r *Row) docFlags() uint64 {
	var set uint64
	if r.DeprecatedSince != "" {
		set |= 1
	}
	if r.System {
		set |= 2
	}
	return set
}

func appendArgs(dst []byte, v resp.Version, args []Arg) []byte {
	dst = resp.AppendArray(dst, len(args))
	for i := range args {
		dst = appendArg(dst, v, &args[i])
	}
	return dst
}

func appendArg(dst []byte, v resp.Version, a *Arg) []byte {
	hasToken := a.Flags&ArgHasToken != 0
	shown := uint64(a.Flags & shownArgFlags)
	pairs := 2 + countTrue(a.Display != "", a.KeySpec >= 0, hasToken, a.Since != "", a.DeprecatedSince != "", shown != 0,
		len(a.Args) > 0)
	dst = resp.AppendMap(dst, v, pairs)
	dst = appendText(dst, "name", a.Name)
	dst = appendText(dst, "type", a.Type.String())
	dst = appendText(dst, "display_text", a.Display)
	if a.KeySpec >= 0 {
		dst = appendNumber(dst, "key_spec_index", a.KeySpec)
	}
	if hasToken {
		dst = resp.AppendBulkString(dst, "token")
		dst = resp.AppendBulkString(dst, a.Token)
	}
	dst = appendText(dst, "since", a.Since)
	dst = appendText(dst, "deprecated_since", a.DeprecatedSince)
	if shown != 0 {
		dst = resp.AppendBulkString(dst, "flags")
		dst = appendNames(dst, v, shown, "", argFlagNames[:])
	}
	if len(a.Args) > 0 {
		dst = resp.AppendBulkString(dst, "arguments")
		dst = appendArgs(dst, v, a.Args)
	}
	return dst
}

func appendKeySpec(dst []byte, v resp.Version, s *KeySpec) []byte {
	dst = resp.AppendMap(dst, v, 3+countTrue(s.Notes != ""))
	dst = appendText(dst, "notes", s.Notes)
	dst = resp.AppendBulkString(dst, "flags")
	dst = AppendKeyFlags(dst, v, s.Flags)
	dst = resp.AppendBulkString(dst, "begin_search")
	switch s.Begin {
	case BeginIndex:
		dst = appendSpecType(dst, v, "index", 1)
		dst = appendNumber(dst, "index", s.Index)
	case BeginKeyword:
		dst = appendSpecType(dst, v, "keyword", 2)
		dst = appendText(dst, "keyword", s.Keyword)
		dst = appendNumber(dst, "startfrom", s.StartFrom)
	default:
		dst = appendSpecType(dst, v, "unknown", 0)
	}
	dst = resp.AppendBulkString(dst, "find_keys")
	switch s.Find {
	case FindRange:
		dst = appendSpecType(dst, v, "range", 3)
		dst = appendNumber(dst, "lastkey", s.Last)
		dst = appendNumber(dst, "keystep", s.Step)
		dst = appendNumber(dst, "limit", s.Limit)
	case FindKeyNum:
		dst = appendSpecType(dst, v, "keynum", 3)
		dst = appendNumber(dst, "keynumidx", s.NumberAt)
		dst = appendNumber(dst, "firstkey", s.First)
		dst = appendNumber(dst, "keystep", s.Step)
	default:
		dst = appendSpecType(dst, v, "unknown", 0)
	}
	return dst
}

// appendSpecType opens the map of one half of a key spec; pairs is the number of its properties, which follow.
func appendSpecType(dst []byte, v resp.Version, kind string, pairs int) []byte {
	dst = resp.AppendMap(dst, v, 2)
	dst = appendText(dst, "type", kind)
	dst = resp.AppendBulkString(dst, "spec")
	return resp.AppendMap(dst, v, pairs)
}

// appendText appends a pair of a map, or nothing if the value is empty.
func appendText(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = resp.AppendBulkString(dst, name)
	return resp.AppendBulkString(dst, value)
}

func appendNumber(dst []byte, name string, value int) []byte {
	dst = resp.AppendBulkString(dst, name)
	return resp.AppendInt(dst, int64(value))
}

// appendNames appends a bit set as a set of status replies; bit i has the name names[i].
func appendNames(dst []byte, v resp.Version, set uint64, prefix string, names []string) []byte {
	dst = resp.AppendSet(dst, v, bits.OnesCount64(set))
	for ; set != 0; set &= set - 1 {
		dst = resp.AppendSimple(dst, prefix+names[bits.TrailingZeros64(set)])
	}
	return dst
}

func countTrue(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}
