package aof

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/covey-db/covey/internal/resp"
	"pgregory.net/rapid"
)

// scan reads a whole stream; the strings are its records.
func scan(r io.Reader) (list []string, at []int64, err error) {
	s := NewScanner(r, 0)
	for {
		rec, err := s.Next()
		if err == io.EOF {
			return list, at, nil
		}
		if err != nil {
			return list, at, err
		}
		at = append(at, rec.At)
		if rec.Args == nil {
			list = append(list, string(rec.Note))
			continue
		}
		list = append(list, string(bytes.Join(rec.Args, []byte(" "))))
	}
}

func TestScanner(t *testing.T) {
	text := AppendTimestamp(nil, 1628217470)
	text = resp.AppendCommand(text, []byte("SET"), []byte("a"), []byte("\r\n$1\r\n"))
	text = append(text, "#anything\r\n"...)
	text = resp.AppendCommand(text, []byte("SET"), []byte(""), bytes.Repeat([]byte("x"), 300_000))
	text = resp.AppendCommand(text, []byte("PING"))
	for name, r := range map[string]io.Reader{"whole": bytes.NewReader(text), "by bytes": iotest.OneByteReader(bytes.NewReader(text))} {
		list, at, err := scan(r)
		want := []string{"#TS:1628217470", "SET a \r\n$1\r\n", "#anything", "SET  " + strings.Repeat("x", 300_000), "PING"}
		if err != nil || strings.Join(list, "|") != strings.Join(want, "|") || at[1] != 16 {
			t.Errorf("%s: %d records, %v, %v", name, len(list), at, err)
		}
	}
	if n, ok := Timestamp([]byte("#TS:1628217470")); !ok || n != 1628217470 {
		t.Error(n, ok)
	}
	if _, ok := Timestamp([]byte("#TSX")); ok {
		t.Error("no time")
	}
}

func TestDamagedStreams(t *testing.T) {
	good := string(resp.AppendCommand(nil, []byte("SET"), []byte("a"), []byte("b")))
	for text, place := range map[string]int64{
		"!!!":                            0,
		"\x00\x00":                       0,
		"+OK\r\n":                        0,
		"*0\r\n":                         0,
		"*-1\r\n":                        0,
		"*x\r\n":                         0,
		"*1\n":                           0,
		"*1\r\n+OK\r\n":                  4,
		"*1\r\n$-1\r\n":                  4,
		"*1\r\n$1\r\nabc\r\n":            9,
		"*" + strings.Repeat("1", 200):   0,
		"#" + strings.Repeat("x", 2_000): 0,
	} {
		_, _, err := scan(strings.NewReader(good + text))
		var d *Damage
		if !errors.As(err, &d) || d.Cut || d.At != int64(len(good)) || d.Place != d.At+place {
			t.Errorf("%.40q: %v (%+v)", text, err, d)
		}
	}
	for n := 1; n < len(good); n++ {
		list, _, err := scan(strings.NewReader(good + good[:n]))
		var d *Damage
		if len(list) != 1 || !errors.As(err, &d) || !d.Cut || d.At != int64(len(good)) || d.Place != int64(len(good)+n) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if _, _, err := scan(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// TestLongClaims makes sure that memory follows what is there and not what is claimed.
func TestLongClaims(t *testing.T) {
	s := NewScanner(strings.NewReader("*3\r\n$1000000000000\r\nabc"), 0)
	_, err := s.Next()
	var d *Damage
	if !errors.As(err, &d) || !d.Cut || len(s.buf) > scanBytes {
		t.Fatal(err, len(s.buf))
	}
}

func TestScannerReadsWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		var want []string
		for range rapid.IntRange(0, 20).Draw(t, "records") {
			if rapid.IntRange(0, 4).Draw(t, "note") == 0 {
				text = AppendTimestamp(text, 7)
				want = append(want, "#TS:7")
				continue
			}
			args := rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 1, 4).Draw(t, "args")
			text = resp.AppendCommand(text, args...)
			want = append(want, string(bytes.Join(args, []byte(" "))))
		}
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		list, _, err := scan(iotest.HalfReader(bytes.NewReader(text[:cut])))
		if len(list) > len(want) || err == nil && cut == len(text) && len(list) != len(want) {
			t.Fatal(list, want, err)
		}
		for i := range list {
			if list[i] != want[i] {
				t.Fatal(list[i], want[i])
			}
		}
	})
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte("#TS:1\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n"))
	f.Add([]byte("*1\r\n$99999999999\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := NewScanner(bytes.NewReader(text), 0)
		var again []byte
		for {
			rec, err := s.Next()
			if err != nil {
				var d *Damage
				if err != io.EOF && !errors.As(err, &d) {
					t.Fatal(err)
				}
				break
			}
			if rec.At != int64(len(again)) {
				t.Fatalf("record at %d, want %d", rec.At, len(again))
			}
			if rec.Args == nil {
				again = append(append(again, rec.Note...), "\r\n"...)
				continue
			}
			before := len(again)
			again = resp.AppendCommand(again, rec.Args...)
			if !bytes.HasPrefix(text[before:], again[before:]) {
				return // a count was written in another way: +1, 01
			}
		}
	})
}
