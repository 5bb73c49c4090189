package mem

import (
	"bytes"
	"testing"
)

// TestDiscard gives the middle of a large slice back: it is zeros then, and what lies around it stays.
func TestDiscard(t *testing.T) {
	if !canSplit {
		t.Skip("nothing is given back here")
	}
	const third = 1 << 20
	ones := bytes.Repeat([]byte{1}, third)
	b := make([]byte, 3*third)
	for at := 0; at < len(b); at += third {
		copy(b[at:], ones)
	}
	Discard(b[third : 2*third])
	if !bytes.Equal(b[third:2*third], make([]byte, third)) {
		t.Error("the pages still have what was in them")
	}
	if !bytes.Equal(b[:third], ones) || !bytes.Equal(b[2*third:], ones) {
		t.Error("pages around them have changed")
	}
	copy(b[third:], ones)
	if !bytes.Equal(b[third:2*third], ones) {
		t.Error("the pages cannot be used again")
	}
}
