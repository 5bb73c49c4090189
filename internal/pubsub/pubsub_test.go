package pubsub

import (
	"hash/maphash"
	"slices"
	"sort"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/glob"
)

func newChannels() *Channels[int] {
	seed := maphash.MakeSeed()
	return NewChannels[int](func(name []byte) uint64 { return maphash.Bytes(seed, name) })
}

// TestModel compares the registry with plain maps.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		channels, patterns := newChannels(), &Patterns[int]{}
		wantChannels, wantPatterns := map[string][]int{}, map[string][]int{}
		name := rapid.SampledFrom([]string{"", "a", "b", "ab", "abc", "news"})
		text := rapid.SampledFrom([]string{"", "*", "a*", "[ab]", "?", "news"})
		who := rapid.IntRange(0, 5)
		t.Repeat(map[string]func(*rapid.T){
			"subscribe":  func(t *rapid.T) { change(t, channels, wantChannels, name.Draw(t, "channel"), who.Draw(t, "who")) },
			"psubscribe": func(t *rapid.T) { change(t, patterns, wantPatterns, text.Draw(t, "pattern"), who.Draw(t, "who")) },
			"publish": func(t *rapid.T) {
				ch := name.Draw(t, "channel")
				var got []int
				n := channels.Publish([]byte(ch), func(s int) { got = append(got, s) })
				compare(t, got, n, wantChannels[ch])
				var want []int
				for p, list := range wantPatterns {
					if glob.Match([]byte(p), []byte(ch), false) {
						want = append(want, list...)
					}
				}
				got = nil
				n = patterns.Publish([]byte(ch), func([]byte) {}, func(s int) { got = append(got, s) })
				compare(t, got, n, want)
			},
			"": func(t *rapid.T) {
				if channels.Len() != len(wantChannels) || patterns.Len() != len(wantPatterns) {
					t.Fatalf("%d channels and %d patterns, want %d, %d", channels.Len(), patterns.Len(), len(wantChannels), len(wantPatterns))
				}
				names := channels.Names()
				for _, ch := range names {
					if n := channels.Subscribers([]byte(ch)); n != len(wantChannels[ch]) || n == 0 {
						t.Fatalf("%q has %d subscribers, want %d", ch, n, len(wantChannels[ch]))
					}
				}
				if len(names) != len(wantChannels) {
					t.Fatalf("names %q", names)
				}
			},
		})
	})
}

// registry is what Channels and Patterns share.
type registry interface {
	Subscribe(name []byte, s int)
	Unsubscribe(name []byte, s int) bool
}

// change subscribes who is not subscribed, and unsubscribes who is.
func change(t *rapid.T, r registry, want map[string][]int, name string, who int) {
	i := slices.Index(want[name], who)
	if i < 0 {
		if r.Unsubscribe([]byte(name), who) {
			t.Fatal("a stranger was taken out")
		}
		r.Subscribe([]byte(name), who)
		want[name] = append(want[name], who)
		return
	}
	if !r.Unsubscribe([]byte(name), who) {
		t.Fatal("a subscriber was not found")
	}
	want[name] = slices.Delete(want[name], i, i+1)
	if len(want[name]) == 0 {
		delete(want, name)
	}
}

func compare(t *rapid.T, got []int, n int, want []int) {
	want = slices.Clone(want)
	sort.Ints(got)
	sort.Ints(want)
	if n != len(want) || !slices.Equal(got, want) {
		t.Fatalf("delivered to %v (%d), want %v", got, n, want)
	}
}

// TestOrder has several publishers on one channel: all subscribers see the messages in the same order.
func TestOrder(t *testing.T) {
	channels := newChannels()
	const subscribers, publishers, each = 4, 4, 500
	var seen [subscribers][]int
	for s := range subscribers {
		channels.Subscribe([]byte("c"), s)
	}
	var wg sync.WaitGroup
	for p := range publishers {
		wg.Go(func() {
			for n := range each {
				channels.Publish([]byte("c"), func(s int) { seen[s] = append(seen[s], p*each+n) })
			}
		})
	}
	wg.Wait()
	for s := range subscribers {
		if len(seen[s]) != publishers*each || !slices.Equal(seen[s], seen[0]) {
			t.Fatalf("subscriber %d saw %d messages in another order", s, len(seen[s]))
		}
	}
}

func BenchmarkPublish(b *testing.B) {
	channels := newChannels()
	for s := range 10 {
		channels.Subscribe([]byte("channel"), s)
	}
	name, sum := []byte("channel"), 0
	b.ReportAllocs()
	for b.Loop() {
		channels.Publish(name, func(s int) { sum += s })
	}
}
