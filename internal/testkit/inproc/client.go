package inproc

import (
	"bytes"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/testkit"
)

// Client is a session that the test itself runs: when Do returns, the command is executed. Commands that wait are not for it,
// as nobody would wake it.
type Client struct {
	*engine.Session
	worker *engine.Worker
}

// NewClient connects to an engine.
func NewClient(e *engine.Engine) *Client {
	return &Client{e.NewSession(Nowhere{}, engine.Peer{}), e.NewWorker()}
}

// Do executes one command and returns its reply in wire form.
func (c *Client) Do(args ...string) string {
	c.worker.Out.Reset()
	c.Process(c.worker, testkit.AppendCommand(nil, args...))
	return string(bytes.Join(c.worker.Out.Pieces(nil), nil))
}

// Nowhere is the transport of a session whose replies are read from its worker.
type Nowhere struct{}

func (Nowhere) Post(func(*engine.Worker))       {}
func (Nowhere) CloseSoon(bool)                  {}
func (Nowhere) Hijack(func(engine.Raw, []byte)) {}
func (Nowhere) Buffered() (query, output int)   { return 0, 0 }
