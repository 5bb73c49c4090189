package bus

import (
	"strconv"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/slot"
)

// routeTable turns views into the engine's routes. A node keeps its index as long as the table lives, so routes of slots
// that did not change stay right.
type routeTable struct {
	index     map[wire.NodeID]engine.NodeIndex
	endpoints []engine.Endpoint
	now       [slot.Count]engine.Route // what the engine has
}

func (r *routeTable) init() {
	r.index = make(map[wire.NodeID]engine.NodeIndex)
	for i := range r.now {
		r.now[i] = engine.Route{Owner: engine.NoNode, Other: engine.NoNode}
	}
}

// indexOf finds or makes the index of a node.
func (r *routeTable) indexOf(id wire.NodeID) engine.NodeIndex {
	i, known := r.index[id]
	if !known {
		i = engine.NodeIndex(len(r.endpoints))
		r.index[id] = i
		r.endpoints = append(r.endpoints, engine.Endpoint{})
	}
	return i
}

// install takes a new picture and gives the engine what differs from the last one.
func (b *Bus) install() {
	b.mu.Lock()
	v := b.mu.core.View()
	b.mu.Unlock()
	b.view.Store(v)
	kind := b.opts.Settings().Endpoint
	r := &b.routes
	places := make([]engine.NodeIndex, len(v.Nodes))
	for i := range v.Nodes {
		places[i] = r.indexOf(v.Nodes[i].ID)
		r.endpoints[places[i]] = endpointOf(&v.Nodes[i], kind)
	}
	b.e.Routes.SetEndpoints(append([]engine.Endpoint(nil), r.endpoints...))
	var changes []engine.RouteChange
	for s := range v.Owner {
		next := routeOf(v, slot.ID(s), places)
		if next != r.now[s] {
			r.now[s] = next
			changes = append(changes, engine.RouteChange{Slot: slot.ID(s), Route: next})
		}
	}
	b.e.Routes.Flip(changes, b.held)
	health := engine.HealthDown
	if v.State == wire.StateOK {
		health = engine.HealthOK
	}
	b.e.Routes.SetHealth(health)
}

// routeOf is the route of one slot as a view has it.
func routeOf(v *core.View, s slot.ID, places []engine.NodeIndex) engine.Route {
	route := engine.Route{Owner: engine.NoNode, Other: engine.NoNode}
	if at := int(v.Owner[s]) - 1; at >= 0 {
		route.Owner = places[at]
		switch at {
		case v.Myself:
			route.State |= engine.RouteMine
		case v.Me().Primary:
			route.State |= engine.RouteReplica
		}
	}
	if to, moving := v.Migrating[s]; moving {
		route.State |= engine.RouteMigrating
		route.Other = places[to]
	}
	if from, moving := v.Importing[s]; moving {
		route.State |= engine.RouteImporting
		route.Other = places[from]
	}
	return route
}

// hostFor is the host that clients are told: an address, a name ("?" when there is none), or nothing.
func hostFor(n *core.NodeView, kind EndpointKind) string {
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

// endpointOf is where clients reach a node. As in Redis an IPv6 address has no brackets.
func endpointOf(n *core.NodeView, kind EndpointKind) engine.Endpoint {
	host := hostFor(n, kind)
	plain, secure := portFor(n, false), portFor(n, true)
	return engine.Endpoint{Plain: host + ":" + strconv.Itoa(plain), TLS: host + ":" + strconv.Itoa(secure)}
}

// portFor is the client port for a kind of connection; a node that has only the other kind shows that.
func portFor(n *core.NodeView, tls bool) int {
	first, second := n.TCPPort, n.TLSPort
	if tls {
		first, second = second, first
	}
	if first == 0 {
		return int(second)
	}
	return int(first)
}
