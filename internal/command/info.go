package command

import (
	"fmt"
	"strings"

	"github.com/covey-db/covey/internal/engine"
)

// This file holds INFO: which sections are shown. What is in them is in info_sections.go.

// section is one part of INFO.
type section struct {
	name   string // as its heading has it
	extra  bool   // shown by "all" and by name, but not by default
	hidden bool   // shown by name only
	fields func(*infoWriter)
}

// infoWriter collects the lines of a section.
type infoWriter struct {
	strings.Builder
	c *engine.Ctx
	d *Deps
}

func (w *infoWriter) add(name string, value any) { fmt.Fprintf(w, "%s:%v\r\n", name, value) }

func (w *infoWriter) pairs(list [][2]string) {
	for _, p := range list {
		w.add(p[0], p[1])
	}
}

func infoHandlers(d Deps) map[string]engine.Handler {
	return map[string]engine.Handler{"info": {Run: func(c *engine.Ctx) { cmdInfo(c, &d) }, Scope: engine.ScopeWhole}}
}

func sections() []section {
	return []section{
		{name: "Server", fields: infoServer}, {name: "Clients", fields: infoClients}, {name: "Memory", fields: infoMemory},
		{name: "Persistence", fields: infoPersistence}, {name: "Stats", fields: infoStats}, {name: "Replication", fields: infoReplication},
		{name: "CPU", fields: infoCPU}, {name: "Modules", fields: func(*infoWriter) {}},
		{name: "Commandstats", extra: true, fields: infoCommandStats}, {name: "Errorstats", fields: infoErrorStats},
		{name: "Latencystats", extra: true, fields: infoLatencyStats}, {name: "Cluster", fields: infoCluster}, {name: "Keyspace", fields: infoKeyspace},
		{name: "Debug", extra: true, hidden: true, fields: infoDebug},
	}
}

func cmdInfo(c *engine.Ctx, d *Deps) {
	c.W.Settle()
	w := &infoWriter{c: c, d: d}
	for _, s := range sections() {
		if !wanted(c.Args[1:], s) {
			continue
		}
		if w.Len() > 0 {
			w.WriteString("\r\n")
		}
		w.WriteString("# " + s.name + "\r\n")
		s.fields(w)
	}
	c.Verbatim(w.String())
}

// wanted says whether the words behind INFO name a section.
func wanted(words [][]byte, s section) bool {
	if len(words) == 0 {
		return !s.extra
	}
	for _, word := range words {
		switch w := strings.ToLower(string(word)); w {
		case "all", "everything":
			if !s.hidden {
				return true
			}
		case "default":
			if !s.extra {
				return true
			}
		case strings.ToLower(s.name):
			return true
		}
	}
	return false
}
