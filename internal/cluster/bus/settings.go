package bus

import "github.com/covey-db/covey/internal/cluster/core"

// This file holds what configuration says of the cluster and what may change while the node runs.

// EndpointKind is cluster-preferred-endpoint-type: what clients are told to connect to.
type EndpointKind uint8

// The kinds of endpoints.
const (
	EndpointIP EndpointKind = iota
	EndpointHostname
	EndpointUnknown
)

// Settings are the directives the bus reads again when they change.
type Settings struct {
	// Core is what concerns the decisions, with what is announced: ports and addresses as other nodes are to use them.
	Core core.Config
	// Endpoint is cluster-preferred-endpoint-type.
	Endpoint EndpointKind
	// LinkSendBytesMax is cluster-link-sendbuf-limit, 0 if it is not set.
	LinkSendBytesMax int64
}

// sendBytesDefault bounds a link's send queue when nothing is configured: more than a cluster says in a minute.
const sendBytesDefault = 64 << 20

func (s *Settings) sendBytesMax() int {
	if s.LinkSendBytesMax > 0 {
		return int(s.LinkSendBytesMax)
	}
	return sendBytesDefault
}
