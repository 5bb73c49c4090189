package engine

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/resp"
)

// TestOutPutsInFront says that a header comes before what was appended since a mark, however many pieces that is in.
func TestOutPutsInFront(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o Out
		var want []byte
		var marks []outMark
		var lengths []int
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				b := bytes.Repeat([]byte("s"), rapid.IntRange(0, 10).Draw(t, "small"))
				o.buf, want = append(o.buf, b...), append(want, b...)
			case 1:
				b := bytes.Repeat([]byte("L"), rapid.IntRange(1, 10).Draw(t, "large"))
				o.addBulk(b)
				want = resp.AppendBulk(want, b)
			case 2:
				o.piece()
			case 3:
				marks, lengths = append(marks, o.mark()), append(lengths, len(want))
			case 4, 5:
				n := len(marks) - 1
				if n < 0 {
					continue
				}
				o.putInFront(marks[n], []byte("head"))
				want = append(append(append([]byte(nil), want[:lengths[n]]...), "head"...), want[lengths[n]:]...)
				marks, lengths = marks[:n], lengths[:n]
			}
			if got := bytes.Join(o.Pieces(nil), nil); !bytes.Equal(got, want) || o.Len() != len(want) {
				t.Fatalf("%q in %d bytes, want %q", got, o.Len(), want)
			}
		}
		for n := len(marks) - 1; n >= 0; n-- {
			if got := o.bytesSince(marks[n]); !bytes.Equal(got, want[lengths[n]:]) {
				t.Fatalf("since %d: %q, want %q", lengths[n], got, want[lengths[n]:])
			}
			o.cutBack(marks[n])
			want = want[:lengths[n]]
			if got := bytes.Join(o.Pieces(nil), nil); !bytes.Equal(got, want) {
				t.Fatalf("cut back to %q, want %q", got, want)
			}
		}
	})
}
