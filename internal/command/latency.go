package command

import (
	"fmt"
	"strings"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/observe"
	"github.com/covey-db/covey/internal/spec"
)

// This file holds LATENCY.

func latencyHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"latency|doctor":    {Run: cmdLatencyDoctor},
		"latency|graph":     {Run: cmdLatencyGraph},
		"latency|histogram": {Run: cmdLatencyHistogram},
		"latency|history":   {Run: cmdLatencyHistory},
		"latency|latest":    {Run: cmdLatencyLatest},
		"latency|reset":     {Run: cmdLatencyReset},
		"latency|help":      {Run: cmdLatencyHelp},
	}
}

func cmdLatencyHistory(c *engine.Ctx) {
	series, _ := c.Engine().Timing.Latency.Of(string(c.Args[2]))
	c.Array(len(series.Samples))
	for _, s := range series.Samples {
		c.Array(2)
		c.ReplyInt(s.At)
		c.ReplyInt(s.Millis)
	}
}

func cmdLatencyLatest(c *engine.Ctx) {
	all := c.Engine().Timing.Latency.All()
	c.Array(len(all))
	for _, s := range all {
		c.Array(4)
		c.BulkString(s.Event)
		c.ReplyInt(s.Last().At)
		c.ReplyInt(s.Last().Millis)
		c.ReplyInt(s.Max)
	}
}

func cmdLatencyReset(c *engine.Ctx) {
	events := make([]string, 0, len(c.Args)-2)
	for _, a := range c.Args[2:] {
		events = append(events, string(a))
	}
	c.ReplyInt(int64(c.Engine().Timing.Latency.Reset(events...)))
}

// cmdLatencyHistogram replies how many calls of each command took up to so many microseconds.
func cmdLatencyHistogram(c *engine.Ctx) {
	c.W.Settle()
	table := c.Engine().Table()
	var rows []*spec.Row
	if len(c.Args) == 2 {
		for row := range table.All() {
			rows = append(rows, row)
		}
	}
	for _, name := range c.Args[2:] {
		if row := table.Find(name); row != nil {
			rows = append(append(rows, row), row.Subs...)
		}
	}
	type known struct {
		name string
		sum  observe.Sum
	}
	var some []known
	for _, row := range rows {
		if sum, called := c.Engine().DurationsOf(row); called {
			some = append(some, known{row.Full, sum})
		}
	}
	c.Map(len(some))
	for i := range some {
		c.BulkString(some[i].name)
		replyHistogram(c, &some[i].sum)
	}
}

func replyHistogram(c *engine.Ctx, sum *observe.Sum) {
	c.Map(2)
	c.BulkString("calls")
	c.ReplyInt(int64(sum.Total))
	c.BulkString("histogram_usec")
	steps := 0
	sum.Steps(func(int64, uint64) { steps++ })
	c.Map(steps)
	sum.Steps(func(micros int64, calls uint64) {
		c.ReplyInt(micros)
		c.ReplyInt(int64(calls))
	})
}

const (
	graphColumns = 80
	graphRows    = 4
)

// cmdLatencyGraph draws the samples of an event as columns, under each when it was.
func cmdLatencyGraph(c *engine.Ctx) {
	series, ok := c.Engine().Timing.Latency.Of(string(c.Args[2]))
	if !ok {
		c.Err(fmt.Sprintf("ERR No samples available for event '%s'", shown(c.Args[2])))
		return
	}
	c.Verbatim(drawSeries(&series, int64(c.Now)/1000))
}

func drawSeries(series *observe.Series, now int64) string {
	samples := series.Samples[max(len(series.Samples)-graphColumns, 0):]
	low, high := samples[0].Millis, samples[0].Millis
	labels := make([]string, len(samples))
	deep := 0
	for i, s := range samples {
		low, high = min(low, s.Millis), max(high, s.Millis)
		labels[i] = ageLabel(now - s.At)
		deep = max(deep, len(labels[i]))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s - high %d ms, low %d ms (all time high %d ms)\n", series.Event, high, low, series.Max)
	text.WriteString(strings.Repeat("-", graphColumns) + "\n")
	for row := graphRows; row > 0; row-- {
		for _, s := range samples {
			height := int64(graphRows)
			if high > low {
				height = 1 + (s.Millis-low)*(graphRows-1)/(high-low)
			}
			text.WriteByte(" #"[b2i(height >= int64(row))])
		}
		text.WriteByte('\n')
	}
	text.WriteByte('\n')
	for row := range deep {
		for _, label := range labels {
			if row < len(label) {
				text.WriteByte(label[row])
			} else {
				text.WriteByte(' ')
			}
		}
		text.WriteByte('\n')
	}
	return text.String()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ageLabel is how long ago something was, in one unit.
func ageLabel(seconds int64) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 24*3600:
		return fmt.Sprintf("%dh", seconds/3600)
	}
	return fmt.Sprintf("%dd", seconds/(24*3600))
}

// advice is what to do about events of a kind.
var advice = map[string]string{
	"command":        "Commands that look at much data take long: look at SLOWLOG GET, and lower slowlog-log-slower-than.",
	"fast-command":   "Even short commands took long: the machine is overloaded, swaps, or the process had to wait for a lock that a long command held.",
	"expire-cycle":   "Very many keys expire at the same time: spread their times to live.",
	"eviction-cycle": "Much has to be evicted: raise maxmemory, or lower the rate of writes.",
}

// cmdLatencyDoctor tells in words what the samples say.
func cmdLatencyDoctor(c *engine.Ctx) {
	all := c.Engine().Timing.Latency.All()
	if len(all) == 0 {
		c.Verbatim("No latency events were noted. They are noted from latency-monitor-threshold milliseconds on; 0 switches the monitor off.\n")
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d kinds of latency events were noted:\n\n", len(all))
	for i, s := range all {
		sum := int64(0)
		for _, sample := range s.Samples {
			sum += sample.Millis
		}
		n := int64(len(s.Samples))
		fmt.Fprintf(&text, "%d. %s: %d events, %d ms on average, the worst took %d ms, the last one was %s ago.\n", i+1, s.Event, n, sum/n, s.Max,
			ageLabel(int64(c.Now)/1000-s.Last().At))
		if todo := advice[s.Event]; todo != "" {
			text.WriteString("   " + todo + "\n")
		}
	}
	c.Verbatim(text.String())
}

func cmdLatencyHelp(c *engine.Ctx) {
	c.Help(
		"DOCTOR",
		"    Tell in words what the noted events say.",
		"GRAPH <event>",
		"    Draw the latest events of a kind.",
		"HISTOGRAM [<command> ...]",
		"    Show how many calls of a command took how long; of all commands if none is named.",
		"HISTORY <event>",
		"    Show when the latest events of a kind were, and how many milliseconds they took.",
		"LATEST",
		"    Show the latest and the longest event of each kind.",
		"RESET [<event> ...]",
		"    Forget the events of some kinds, or all.",
	)
}
