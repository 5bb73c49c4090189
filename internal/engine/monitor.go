package engine

import (
	"sync"
	"sync/atomic"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/spec"
)

// This file holds MONITOR: every command, as it is about to run, is told to the sessions that watch.

// monitors are the sessions that watch.
type monitors struct {
	count atomic.Int32 // how many; commands look at this alone when nobody does
	mu    struct {     // a leaf lock
		sync.Mutex
		list []*Subscription
	}
}

// Monitor makes the session watch all commands.
func (c *Ctx) Monitor() {
	m, s := &c.e.monitors, c.S
	if s.flags.Load()&FlagMonitor != 0 {
		return
	}
	s.setFlag(FlagMonitor, true)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.list = append(m.mu.list, &Subscription{s: s})
	m.count.Add(1)
}

// endMonitor ends the watching.
func (s *Session) endMonitor() {
	if s.flags.Load()&FlagMonitor == 0 {
		return
	}
	s.setFlag(FlagMonitor, false)
	m := &s.e.monitors
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, other := range m.mu.list {
		if other.s == s {
			other.ended = true
			m.mu.list = append(m.mu.list[:i:i], m.mu.list[i+1:]...)
			m.count.Add(-1)
			return
		}
	}
}

// tellMonitors shows a command to the watching sessions. from is what stands for the client: its address, or lua.
func (c *Ctx) tellMonitors(cmd *Command, from string) {
	if cmd.Flags&(spec.SkipMonitor|spec.Admin) != 0 && !cmd.runsCode {
		return
	}
	m := &c.e.monitors
	m.mu.Lock()
	list := m.mu.list
	m.mu.Unlock()
	line := monitorLine(int64(c.Now), c.W.nanos(), c.S.db, from, redacted(cmd, c.Args))
	for _, sub := range list {
		c.e.send(nil, Push{sub, line})
	}
}

// monitorLine is +1339518083.107412 [0 127.0.0.1:60866] "keys" "*". The clock of commands has milliseconds; what is behind
// them comes from the monotonic one.
func monitorLine(now, nanos int64, db int, from string, args [][]byte) []byte {
	micros := now%1000*1000 + nanos/1000%1000
	b := append([]byte("+"), num.AppendInt(nil, now/1000)...)
	b = append(b, '.')
	for div := int64(100000); div > 0; div /= 10 {
		b = append(b, byte('0'+micros/div%10))
	}
	b = append(num.AppendInt(append(b, " ["...), int64(db)), ' ')
	b = append(append(b, from...), ']')
	for _, a := range args {
		b = config.AppendQuoted(append(b, ' '), a)
	}
	return append(b, "\r\n"...)
}
