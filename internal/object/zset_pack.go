package object

import (
	"bytes"
	"math"

	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/num"
)

// This file holds the small sorted set: a listpack of member, score, member, score in the order of the scores, then of the
// members. A score that is a whole number is an element that is a number; minus zero becomes zero by that.

// scoreTextMax is the length of the longest text of a score: -2.2250738585072014e-308.
const scoreTextMax = 32

// packLen is the number of members.
func packLen(lp []byte) int { return listpack.Len(lp) / 2 }

// packFind is the position of a member, 0 if it is not there.
func packFind(lp, member []byte) int { return listpack.Find(lp, listpack.First(lp), 1, member) }

// packScore is the score of the member at a position.
func packScore(lp []byte, pos int) float64 {
	e := listpack.Get(lp, pos+listpack.ElemSize(lp, pos))
	if e.IsInt() {
		return float64(e.Int)
	}
	return parseScore(e.Str)
}

// packNext is the position of the next member, 0 at the end.
func packNext(lp []byte, pos int) int { return listpack.Next(lp, pos+listpack.ElemSize(lp, pos)) }

// packPrev is the position of the member before, 0 at the start.
func packPrev(lp []byte, pos int) int {
	if pos = listpack.Prev(lp, pos); pos == 0 {
		return 0
	}
	return listpack.Prev(lp, pos)
}

// packRank counts the members up to the first one for which before is false.
func packRank(lp []byte, before func(pos int) bool) (n int) {
	for pos := listpack.First(lp); pos != 0 && before(pos); pos = packNext(lp, pos) {
		n++
	}
	return n
}

// packRankBack counts the members up to the last one for which before is true.
func packRankBack(lp []byte, before func(pos int) bool) (n int) {
	n = listpack.Len(lp) / 2
	for pos := listpack.Prev(lp, listpack.Last(lp)); pos != 0 && !before(pos); pos = packPrev(lp, pos) {
		n--
	}
	return n
}

// packIndex is the rank of the member at a position.
func packIndex(lp []byte, pos int) (rank int) {
	for at := listpack.First(lp); at != pos; at = packNext(lp, at) {
		rank++
	}
	return rank
}

// comparePacked compares the member at a position with another one.
func comparePacked(lp []byte, pos int, member []byte) int {
	e := listpack.Get(lp, pos)
	if !e.IsInt() {
		return bytes.Compare(e.Str, member)
	}
	var digits [intTextMax]byte
	return bytes.Compare(num.AppendInt(digits[:0], e.Int), member)
}

// packInsert puts in a member that is not there.
func packInsert(lp, member []byte, score float64) []byte {
	pos := listpack.First(lp)
	for pos != 0 {
		if s := packScore(lp, pos); s > score || s == score && comparePacked(lp, pos, member) > 0 {
			break
		}
		pos = packNext(lp, pos)
	}
	if pos == 0 {
		return packAppend(lp, member, score)
	}
	lp = listpack.Insert(lp, pos, listpack.Before, member)
	if n, ok := wholeScore(score); ok {
		return listpack.InsertInt(lp, pos, listpack.After, n)
	}
	var text [scoreTextMax]byte
	return listpack.Insert(lp, pos, listpack.After, num.AppendFloat(text[:0], score))
}

// packAppend puts in a member that is behind all others.
func packAppend(lp, member []byte, score float64) []byte {
	lp = listpack.Append(lp, member)
	if n, ok := wholeScore(score); ok {
		return listpack.AppendInt(lp, n)
	}
	var text [scoreTextMax]byte
	return listpack.Append(lp, num.AppendFloat(text[:0], score))
}

// wholeScore is a score as a number, when it is one that can be kept as such.
func wholeScore(score float64) (int64, bool) {
	if score < -math.MaxInt64/2 || score > math.MaxInt64/2 {
		return 0, false
	}
	n := int64(score)
	return n, float64(n) == score
}

// tenPowers are the powers of ten that a double holds exactly, up to what parseScore needs. Never written.
var tenPowers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parseScore reads the text of a score. What has up to 15 digits and no exponent is a quotient of two numbers that a double
// holds exactly, so one division rounds it as it has to be; that is most of them.
func parseScore(text []byte) float64 {
	digits, decimals, point := uint64(0), 0, false
	rest := text
	negative := len(rest) > 0 && rest[0] == '-'
	if negative {
		rest = rest[1:]
	}
	for _, c := range rest {
		switch {
		case c-'0' < 10:
			digits = digits*10 + uint64(c-'0')
			if point {
				decimals++
			}
		case c == '.' && !point:
			point = true
		default:
			return parseLongScore(text)
		}
	}
	if len(rest) > len(tenPowers) {
		return parseLongScore(text)
	}
	score := float64(digits) / tenPowers[decimals]
	if negative {
		return -score
	}
	return score
}

// parseLongScore reads any text of a score. Listpacks hold no other text: it was checked where it came in.
func parseLongScore(text []byte) float64 {
	score, ok := num.ParseFloat(text)
	if ok {
		return score
	}
	score, _ = num.ParseBound(text)
	return score
}
