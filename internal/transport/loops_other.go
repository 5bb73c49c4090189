//go:build !linux

package transport

import (
	"net"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// Loops stands in for the event loops where this package has none: every connection gets a goroutine.
type Loops struct{ streams *Goroutines }

// NewLoops makes an empty set; opts.Loops has no meaning here.
func NewLoops(e *engine.Engine, opts Options) (*Loops, error) {
	return &Loops{streams: NewGoroutines(e, opts)}, nil
}

// Serve accepts connections until the listener is closed.
func (g *Loops) Serve(l net.Listener) error { return g.streams.Serve(l, nil) }

// Backend says that there is none.
func (g *Loops) Backend() Backend { return "goroutines" }

// ServingTime is not known: goroutines have no threads of their own.
func (g *Loops) ServingTime() (user, system time.Duration) { return 0, 0 }

// Close ends all connections and waits for their goroutines.
func (g *Loops) Close() { g.streams.Close() }
