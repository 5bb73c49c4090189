package bus

import (
	"strconv"
	"testing"
)

func TestNewsKeepTheirOrderAndTheirBound(t *testing.T) {
	b := &Bus{news: news{ring: make(chan struct{}, 1)}}
	const messages = 3*newsPerTurn + 7
	for n := range messages {
		if !b.Publish([]byte("ch"), []byte(strconv.Itoa(n)), n%2 == 0) {
			t.Fatalf("message %d was dropped", n)
		}
	}
	next := 0
	for next < messages {
		<-b.news.ring
		for _, m := range b.news.take() {
			if string(m.Message) != strconv.Itoa(next) || m.Sharded != (next%2 == 0) {
				t.Fatalf("got %q, sharded %v, want number %d", m.Message, m.Sharded, next)
			}
			next++
		}
	}
	if b.news.mu.size != 0 {
		t.Errorf("%d bytes are counted of nothing", b.news.mu.size)
	}
	big := make([]byte, newsBytesMax/4)
	sent := 0
	for b.Publish(nil, big, false) {
		sent++
	}
	if sent != 3 {
		t.Errorf("%d quarters of the bound fit", sent)
	}
	if b.news.take(); !b.Publish(nil, make([]byte, 2*newsBytesMax), false) {
		t.Error("a message larger than the bound does not pass alone")
	}
}
