// Package pubsub keeps who listens to which channel and to which pattern. It delivers nothing itself: whoever publishes gives
// a function that does. Its methods may be called by any goroutine, and its locks are leaves: a delivery must not wait and
// must not call back.
package pubsub

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/covey-db/covey/internal/glob"
)

// bucketCount is over how many locks the channels are spread: more than there are threads, so that they seldom meet.
const bucketCount = 64

// Channels are channels with their subscribers. A subscriber is whatever the owner tells apart; it may listen to a channel
// once.
type Channels[S comparable] struct {
	place   func(name []byte) uint64
	count   atomic.Int64 // channels that have subscribers
	buckets [bucketCount]bucket[S]
}

type bucket[S comparable] struct {
	mu     sync.RWMutex // guards byName; a channel's lock may be taken while it is held
	byName map[string]*channel[S]
}

// channel is one channel. Its messages go out one after the other, so that all its subscribers see the same order.
type channel[S comparable] struct {
	mu   sync.Mutex // guards list
	list []S        // empty: the channel was taken out of its bucket
}

// NewChannels makes an empty registry. place spreads the names; those with the same last six bits share a lock.
func NewChannels[S comparable](place func(name []byte) uint64) *Channels[S] {
	return &Channels[S]{place: place}
}

func (c *Channels[S]) bucket(name []byte) *bucket[S] { return &c.buckets[c.place(name)%bucketCount] }

// Subscribe adds a subscriber, which must not listen to the channel yet.
func (c *Channels[S]) Subscribe(name []byte, s S) {
	b := c.bucket(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	ch := b.byName[string(name)]
	if ch == nil {
		if b.byName == nil {
			b.byName = make(map[string]*channel[S])
		}
		ch = &channel[S]{}
		b.byName[string(name)] = ch
		c.count.Add(1)
	}
	ch.mu.Lock()
	ch.list = append(ch.list, s)
	ch.mu.Unlock()
}

// Unsubscribe takes a subscriber out; false when it was not there.
func (c *Channels[S]) Unsubscribe(name []byte, s S) bool {
	b := c.bucket(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	ch := b.byName[string(name)]
	if ch == nil {
		return false
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	i := slices.Index(ch.list, s)
	if i < 0 {
		return false
	}
	ch.list = slices.Delete(ch.list, i, i+1)
	if len(ch.list) == 0 {
		delete(b.byName, string(name))
		c.count.Add(-1)
	}
	return true
}

// Publish calls deliver for each subscriber of a channel and returns how many there are.
func (c *Channels[S]) Publish(name []byte, deliver func(s S)) int {
	if c.count.Load() == 0 {
		return 0
	}
	b := c.bucket(name)
	b.mu.RLock()
	ch := b.byName[string(name)]
	b.mu.RUnlock()
	if ch == nil {
		return 0
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	for _, s := range ch.list {
		deliver(s)
	}
	return len(ch.list)
}

// Len is the number of channels that have subscribers.
func (c *Channels[S]) Len() int { return int(c.count.Load()) }

// Subscribers is the number of subscribers of a channel.
func (c *Channels[S]) Subscribers(name []byte) int {
	b := c.bucket(name)
	b.mu.RLock()
	defer b.mu.RUnlock()
	ch := b.byName[string(name)]
	if ch == nil {
		return 0
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return len(ch.list)
}

// Names are the channels that have subscribers, in no order.
func (c *Channels[S]) Names() []string {
	var names []string
	for i := range c.buckets {
		names = c.buckets[i].names(names)
	}
	return names
}

// NamesAt are the channels that share a lock with a name that is placed at p.
func (c *Channels[S]) NamesAt(p uint64) []string {
	if c.count.Load() == 0 {
		return nil
	}
	return c.buckets[p%bucketCount].names(nil)
}

func (b *bucket[S]) names(to []string) []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for name := range b.byName {
		to = append(to, name)
	}
	return to
}

// Each calls fn for each subscriber of a channel.
func (c *Channels[S]) Each(name string, fn func(s S)) { c.Publish([]byte(name), fn) }

// Patterns are patterns with their subscribers.
type Patterns[S comparable] struct {
	count  atomic.Int64 // patterns that have subscribers
	mu     sync.RWMutex // guards what follows
	byText map[string]*pattern[S]
	list   []*pattern[S]
}

type pattern[S comparable] struct {
	text []byte
	at   int // where it is in list
	subs []S
}

// Subscribe adds a subscriber, which must not listen to the pattern yet.
func (p *Patterns[S]) Subscribe(text []byte, s S) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byText[string(text)]
	if one == nil {
		if p.byText == nil {
			p.byText = make(map[string]*pattern[S])
		}
		one = &pattern[S]{text: append([]byte{}, text...), at: len(p.list)}
		p.byText[string(text)] = one
		p.list = append(p.list, one)
		p.count.Add(1)
	}
	one.subs = append(one.subs, s)
}

// Unsubscribe takes a subscriber out; false when it was not there.
func (p *Patterns[S]) Unsubscribe(text []byte, s S) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byText[string(text)]
	if one == nil {
		return false
	}
	i := slices.Index(one.subs, s)
	if i < 0 {
		return false
	}
	one.subs = slices.Delete(one.subs, i, i+1)
	if len(one.subs) == 0 {
		delete(p.byText, string(text))
		last := len(p.list) - 1
		p.list[one.at] = p.list[last]
		p.list[one.at].at = one.at
		p.list[last] = nil
		p.list = p.list[:last]
		p.count.Add(-1)
	}
	return true
}

// Publish calls deliver for each subscriber of each pattern that matches a channel, and returns how many calls it made.
// matched is called before those of its pattern.
func (p *Patterns[S]) Publish(name []byte, matched func(text []byte), deliver func(s S)) (n int) {
	if p.count.Load() == 0 {
		return 0
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, one := range p.list {
		if !glob.Match(one.text, name, false) {
			continue
		}
		matched(one.text)
		for _, s := range one.subs {
			deliver(s)
		}
		n += len(one.subs)
	}
	return n
}

// Len is the number of patterns that have subscribers.
func (p *Patterns[S]) Len() int { return int(p.count.Load()) }
