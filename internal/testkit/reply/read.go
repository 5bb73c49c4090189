package reply

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	bulkBytesMax  = 1 << 30 // twice what a server may send by default
	itemsMax      = 1 << 24 // more items than any test asks for
	depthMax      = 128     // deeper than any reply of a command; scripts are refused earlier
	lineBytesMax  = 1 << 20 // an error text may quote a whole argument
	itemsAtOnce   = 1 << 10 // items that are allocated before they arrive
	attributeMark = '|'
)

// Read reads one reply. Attributes are read and dropped: no test looks at them.
func Read(r *bufio.Reader) (Value, error) { return read(r, 0) }

func read(r *bufio.Reader, depth int) (Value, error) {
	if depth > depthMax {
		return Value{}, errors.New("reply: nested too deeply")
	}
	line, err := readLine(r)
	if err != nil {
		return Value{}, err
	}
	if line == "" {
		return Value{}, errors.New("reply: empty line where a reply should start")
	}
	mark, rest := line[0], line[1:]
	if scalar, ok, err := readScalar(mark, rest); ok || err != nil {
		return scalar, err
	}
	switch mark {
	case '$', '=':
		return readBulk(r, mark, rest)
	case '*', '~', '>', '%':
		return readItems(r, mark, rest, depth)
	case attributeMark:
		if _, err := readItems(r, '%', rest, depth); err != nil {
			return Value{}, err
		}
		return read(r, depth)
	}
	return Value{}, fmt.Errorf("reply: no reply starts with %s", Quote(line[:1]))
}

func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > lineBytesMax {
			return "", err
		}
	}
	text, ok := strings.CutSuffix(string(line), "\r\n")
	if !ok {
		return "", fmt.Errorf("reply: line without CR LF: %s", Quote(string(line)))
	}
	return text, nil
}

// readScalar makes the values that fit in their line; ok is false for the other kinds.
func readScalar(mark byte, rest string) (v Value, ok bool, err error) {
	switch mark {
	case '+':
		return Value{Kind: Status, Text: rest}, true, nil
	case '-':
		return Value{Kind: Error, Text: rest}, true, nil
	case ',':
		return Value{Kind: Double, Text: rest}, true, nil
	case '(':
		return Value{Kind: BigNumber, Text: rest}, true, nil
	case ':':
		n, err := strconv.ParseInt(rest, 10, 64)
		return Value{Kind: Int, Int: n}, true, err
	case '_':
		if rest != "" {
			return Value{}, false, fmt.Errorf("reply: null with content %s", Quote(rest))
		}
		return Value{Kind: Null}, true, nil
	case '#':
		switch rest {
		case "t":
			return Value{Kind: Bool, Int: 1}, true, nil
		case "f":
			return Value{Kind: Bool}, true, nil
		}
		return Value{}, false, fmt.Errorf("reply: boolean %s", Quote(rest))
	}
	return Value{}, false, nil
}

func readBulk(r *bufio.Reader, mark byte, head string) (Value, error) {
	n, err := strconv.ParseInt(head, 10, 64)
	switch {
	case err != nil:
		return Value{}, err
	case n == -1 && mark == '$':
		return Value{Kind: NilBulk}, nil
	case n < 0 || n > bulkBytesMax:
		return Value{}, fmt.Errorf("reply: bulk of %d bytes", n)
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(r, body); err != nil {
		return Value{}, err
	}
	if string(body[n:]) != "\r\n" {
		return Value{}, fmt.Errorf("reply: bulk ends with %s", Quote(string(body[n:])))
	}
	kind := Bulk
	if mark == '=' {
		kind = Verbatim
	}
	return Value{Kind: kind, Text: string(body[:n])}, nil
}

func readItems(r *bufio.Reader, mark byte, head string, depth int) (Value, error) {
	n, err := strconv.ParseInt(head, 10, 64)
	switch {
	case err != nil:
		return Value{}, err
	case n == -1 && mark == '*':
		return Value{Kind: NilArray}, nil
	case n < 0 || n > itemsMax:
		return Value{}, fmt.Errorf("reply: %d items", n)
	}
	if mark == '%' {
		n *= 2
	}
	v := Value{Kind: map[byte]Kind{'*': Array, '~': Set, '>': Push, '%': Map}[mark]}
	v.Items = make([]Value, 0, min(n, itemsAtOnce))
	for range n {
		item, err := read(r, depth+1)
		if err != nil {
			return Value{}, err
		}
		v.Items = append(v.Items, item)
	}
	return v, nil
}
