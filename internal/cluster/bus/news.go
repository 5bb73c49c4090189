package bus

import (
	"sync"

	"github.com/covey-db/covey/internal/cluster/core"
)

// newsBytesMax is how many bytes of Pub/Sub messages may wait for the bus: some tenths of a second of what it sends.
const newsBytesMax = 64 << 20

// newsOverhead is about what a waiting message takes beside its bytes.
const newsOverhead = 64

// news are messages that wait for Run to send them to other nodes.
type news struct {
	ring chan struct{} // signalled when the list is not empty any more
	mu   struct {      // a leaf lock
		sync.Mutex
		list []core.Publish
		size int
	}
}

// Publish hands a Pub/Sub message to the other nodes, a sharded one to those of this shard. It does not block; false says
// that too much waits already. The slices must not change any more.
func (b *Bus) Publish(channel, message []byte, sharded bool) bool {
	n := &b.news
	n.mu.Lock()
	defer n.mu.Unlock()
	size := len(channel) + len(message) + newsOverhead
	if n.mu.size > 0 && n.mu.size+size > newsBytesMax {
		return false
	}
	n.mu.list = append(n.mu.list, core.Publish{Channel: channel, Message: message, Sharded: sharded})
	n.mu.size += size
	if len(n.mu.list) == 1 {
		select {
		case n.ring <- struct{}{}:
		default:
		}
	}
	return true
}

// bytes is what the messages take that no link has yet.
func (n *news) bytes() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return int64(n.mu.size)
}

// newsPerTurn is how many messages the bus sends before it looks at everything else again: about a millisecond.
const newsPerTurn = 256

// take returns the oldest messages that wait, and rings again when there are more.
func (n *news) take() []core.Publish {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.mu.list
	if len(list) <= newsPerTurn {
		n.mu.list, n.mu.size = nil, 0
		return list
	}
	list, n.mu.list = list[:newsPerTurn], list[newsPerTurn:]
	for _, m := range list {
		n.mu.size -= len(m.Channel) + len(m.Message) + newsOverhead
	}
	select {
	case n.ring <- struct{}{}:
	default:
	}
	return list
}
