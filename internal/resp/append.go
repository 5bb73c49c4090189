// The replies of the server, appended to its output, and the commands of a client.

package resp

import (
	"strconv"

	"github.com/covey-db/covey/internal/num"
)

// appendHead appends the line of a kind with a length, a count or an integer.
func appendHead(dst []byte, kind byte, n int64) []byte {
	switch {
	case uint64(n) < 10:
		return append(dst, kind, '0'+byte(n), '\r', '\n')
	case uint64(n) < 100:
		return append(dst, kind, '0'+byte(n/10), '0'+byte(n%10), '\r', '\n')
	}
	return append(strconv.AppendInt(append(dst, kind), n, 10), '\r', '\n')
}

// appendLine appends a text as one line: CR and LF within become blanks.
func appendLine(dst []byte, kind byte, text string) []byte {
	dst = append(append(dst, kind), text...)
	for i := len(dst) - len(text); i < len(dst); i++ {
		if dst[i] == '\r' || dst[i] == '\n' {
			dst[i] = ' '
		}
	}
	return append(dst, '\r', '\n')
}

// AppendSimple appends a status such as "OK". CR and LF become blanks.
func AppendSimple(dst []byte, text string) []byte { return appendLine(dst, '+', text) }

// AppendError appends an error; text starts with its code, as in "ERR syntax error". CR and LF become blanks.
func AppendError(dst []byte, text string) []byte { return appendLine(dst, '-', text) }

// AppendInt appends an integer.
func AppendInt(dst []byte, n int64) []byte { return appendHead(dst, ':', n) }

// AppendBulk appends a string of any bytes.
func AppendBulk(dst, b []byte) []byte {
	dst = append(appendHead(dst, '$', int64(len(b))), b...)
	return append(dst, '\r', '\n')
}

// AppendBulkString is AppendBulk of a string.
func AppendBulkString(dst []byte, s string) []byte {
	dst = append(appendHead(dst, '$', int64(len(s))), s...)
	return append(dst, '\r', '\n')
}

// AppendBulkInt appends the decimal text of n as a string: the value of a key that is kept as an integer.
func AppendBulkInt(dst []byte, n int64) []byte {
	var room [20]byte // the longest is that of -2^63
	return AppendBulk(dst, strconv.AppendInt(room[:0], n, 10))
}

// AppendBulkLen appends only the first line of a string of n bytes; the caller sends the bytes and the line end.
func AppendBulkLen(dst []byte, n int) []byte { return appendHead(dst, '$', int64(n)) }

// AppendArray opens an array of n elements.
func AppendArray(dst []byte, n int) []byte { return appendHead(dst, '*', int64(n)) }

// AppendMap opens a map of n pairs; RESP2 has no maps and gets a flat array.
func AppendMap(dst []byte, v Version, n int) []byte {
	if v == RESP3 {
		return appendHead(dst, '%', int64(n))
	}
	return appendHead(dst, '*', 2*int64(n))
}

// AppendSet opens a set of n elements; an array in RESP2.
func AppendSet(dst []byte, v Version, n int) []byte {
	if v == RESP3 {
		return appendHead(dst, '~', int64(n))
	}
	return appendHead(dst, '*', int64(n))
}

// AppendPush opens a message of n elements that answers no command; an array in RESP2.
func AppendPush(dst []byte, v Version, n int) []byte {
	if v == RESP3 {
		return appendHead(dst, '>', int64(n))
	}
	return appendHead(dst, '*', int64(n))
}

// AppendAttribute opens n pairs that describe the reply that follows. Only RESP3 clients may get one.
func AppendAttribute(dst []byte, n int) []byte { return appendHead(dst, '|', int64(n)) }

// AppendNull appends the absence of a string.
func AppendNull(dst []byte, v Version) []byte {
	if v == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "$-1\r\n"...)
}

// AppendNullArray appends the absence of an array, which RESP3 does not tell from that of a string.
func AppendNullArray(dst []byte, v Version) []byte {
	if v == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "*-1\r\n"...)
}

// AppendBool appends a truth value; the integer 1 or 0 in RESP2.
func AppendBool(dst []byte, v Version, b bool) []byte {
	switch {
	case v == RESP3 && b:
		return append(dst, "#t\r\n"...)
	case v == RESP3:
		return append(dst, "#f\r\n"...)
	case b:
		return append(dst, ":1\r\n"...)
	}
	return append(dst, ":0\r\n"...)
}

// doubleMax is room for the text of any double: "-0.000" and 17 digits, or an exponent.
const doubleMax = 32

// AppendDouble appends a double; its text as a string in RESP2.
func AppendDouble(dst []byte, v Version, f float64) []byte {
	if v == RESP3 {
		return append(num.AppendFloat(append(dst, ','), f), '\r', '\n')
	}
	var room [doubleMax]byte
	return AppendBulk(dst, num.AppendFloat(room[:0], f))
}

// AppendBigNumber appends an integer of any size from its decimal text; that text as a string in RESP2.
func AppendBigNumber(dst []byte, v Version, text string) []byte {
	if v == RESP3 {
		return appendLine(dst, '(', text)
	}
	return AppendBulkString(dst, text)
}

// AppendVerbatim appends a text to be shown as it is, of a format of three letters ("txt", "mkd"); a plain string in RESP2.
func AppendVerbatim(dst []byte, v Version, format, text string) []byte {
	if v != RESP3 {
		return AppendBulkString(dst, text)
	}
	dst = appendHead(dst, '=', int64(len(format)+1+len(text)))
	dst = append(append(append(dst, format...), ':'), text...)
	return append(dst, '\r', '\n')
}

// AppendCommand appends a command in the form of clients, links to replicas and append-only files.
func AppendCommand(dst []byte, args ...[]byte) []byte {
	dst = appendHead(dst, '*', int64(len(args)))
	for _, arg := range args {
		dst = AppendBulk(dst, arg)
	}
	return dst
}
