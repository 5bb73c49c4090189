package bus

import (
	"strconv"
	"sync"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/slot"
)

// This file turns views of the cluster into the engine's routes.

// router knows which numbers the nodes have in the engine's routes. A number keeps its meaning as long as a route has it.
type router struct {
	e  *engine.Engine
	mu struct { // a leaf lock
		sync.Mutex
		index     map[wire.NodeID]engine.NodeIndex
		endpoints []engine.Endpoint
		free      []engine.NodeIndex
		routes    [slot.Count]engine.Route // as installed
	}
}

func (r *router) init(e *engine.Engine) {
	r.e = e
	r.mu.index = make(map[wire.NodeID]engine.NodeIndex)
	for i := range r.mu.routes {
		r.mu.routes[i] = engine.Route{Owner: engine.NoNode, Other: engine.NoNode}
	}
}

// install makes the engine serve and redirect as a view says. A cluster that is down stops serving before routes change,
// one that is up serves after.
func (r *router) install(v *core.View, kind EndpointKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.State != wire.StateOK {
		r.e.Routes.SetHealth(engine.HealthDown)
	}
	wanted := r.plan(v)
	r.publish(v, kind)
	var changes []engine.RouteChange
	for s := range wanted {
		if wanted[s] != r.mu.routes[s] {
			changes = append(changes, engine.RouteChange{Slot: slot.ID(s), Route: wanted[s]})
		}
	}
	if len(changes) > 0 {
		r.e.Routes.Flip(changes)
		r.mu.routes = *wanted
	}
	r.forget(wanted)
	if v.State == wire.StateOK {
		r.e.Routes.SetHealth(engine.HealthOK)
	}
}

// plan computes the routes of a view; nodes that routes need get a number.
func (r *router) plan(v *core.View) *[slot.Count]engine.Route {
	var wanted [slot.Count]engine.Route
	mine, primary := v.Myself, v.Me().Primary
	numbers := make([]engine.NodeIndex, len(v.Nodes)) // number + 1, 0 for none yet
	number := func(at int) engine.NodeIndex {
		if numbers[at] == 0 {
			numbers[at] = r.number(v.Nodes[at].ID) + 1
		}
		return numbers[at] - 1
	}
	for s := range wanted {
		route := engine.Route{Owner: engine.NoNode, Other: engine.NoNode}
		if at := int(v.Owner[s]) - 1; at >= 0 {
			route.Owner = number(at)
			switch at {
			case mine:
				route.State |= engine.RouteMine
			case primary:
				route.State |= engine.RouteReplica
			}
		}
		wanted[s] = route
	}
	for s, at := range v.Migrating {
		wanted[s].Other = number(at)
		wanted[s].State |= engine.RouteMigrating
	}
	for s, at := range v.Importing {
		wanted[s].Other = number(at)
		wanted[s].State |= engine.RouteImporting
	}
	return &wanted
}

// number is the number of a node, a new one if it has none. mu is held.
func (r *router) number(id wire.NodeID) engine.NodeIndex {
	if n, ok := r.mu.index[id]; ok {
		return n
	}
	var n engine.NodeIndex
	if last := len(r.mu.free) - 1; last >= 0 {
		n = r.mu.free[last]
		r.mu.free = r.mu.free[:last]
	} else {
		n = engine.NodeIndex(len(r.mu.endpoints))
		r.mu.endpoints = append(r.mu.endpoints, engine.Endpoint{})
	}
	r.mu.index[id] = n
	return n
}

// publish gives the engine the addresses of the numbered nodes. mu is held.
func (r *router) publish(v *core.View, kind EndpointKind) {
	fresh := append([]engine.Endpoint(nil), r.mu.endpoints...)
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if at, ok := r.mu.index[n.ID]; ok {
			host := preferred(n, kind)
			fresh[at] = engine.Endpoint{
				Plain: host + ":" + strconv.Itoa(int(n.TCPPort)),
				TLS:   host + ":" + strconv.Itoa(int(n.TLSPort)),
			}
		}
	}
	r.mu.endpoints = fresh
	r.e.Routes.SetEndpoints(fresh)
}

// forget frees the numbers that no route has any more. mu is held.
func (r *router) forget(wanted *[slot.Count]engine.Route) {
	if len(r.mu.index) <= 1 {
		return
	}
	used := make([]bool, len(r.mu.endpoints))
	for s := range wanted {
		for _, n := range [...]engine.NodeIndex{wanted[s].Owner, wanted[s].Other} {
			if n != engine.NoNode {
				used[n] = true
			}
		}
	}
	for id, n := range r.mu.index {
		if !used[n] {
			delete(r.mu.index, id)
			r.mu.free = append(r.mu.free, n)
		}
	}
}

// giveAway redirects a slot to its new owner at once; the caller holds the lock of the slot's shard.
func (r *router) giveAway(s slot.ID, v *core.View, kind EndpointKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	route := r.plan(v)[s]
	r.publish(v, kind)
	r.e.Routes.SetLocked(engine.RouteChange{Slot: s, Route: route})
	r.mu.routes[s] = route
}

// preferred is the host that clients are told.
func preferred(n *core.NodeView, kind EndpointKind) string {
	switch kind {
	case EndpointHostname:
		if n.Hostname == "" {
			return "?"
		}
		return n.Hostname
	case EndpointUnknown:
		return ""
	}
	return n.IP.String()
}
