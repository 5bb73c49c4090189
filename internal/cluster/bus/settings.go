package bus

import (
	"log/slog"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds what configuration says of the cluster.

// EndpointType is cluster-preferred-endpoint-type: what clients are told to connect to.
type EndpointType uint8

// The endpoint types, with the numbers of the directive's words.
const (
	EndpointIP EndpointType = iota
	EndpointHostname
	EndpointUnknown
)

// Settings are the directives the bus reads.
type Settings struct {
	NodeTimeout           time.Duration // cluster-node-timeout
	PingInterval          time.Duration // cluster-ping-interval, 0: half of the node timeout
	ReplicaPingPeriod     time.Duration // repl-ping-replica-period
	ReplicaValidityFactor int64         // cluster-replica-validity-factor
	MigrationBarrier      int           // cluster-migration-barrier
	AllowReplicaMigration bool          // cluster-allow-replica-migration
	RequireFullCoverage   bool          // cluster-require-full-coverage
	ReplicaNoFailover     bool          // cluster-replica-no-failover
	TLSCluster            bool          // tls-cluster
	TLSReplication        bool          // tls-replication

	Port, TLSPort int      // where clients are served, 0 for not at all
	BusPort       int      // cluster-port, 0: the client port + 10000
	Bind          []string // bind; a leading "-" marks addresses that may be missing on this machine

	AnnounceIP                                     string // cluster-announce-ip
	AnnouncePort, AnnounceTLSPort, AnnounceBusPort int    // 0: not set
	Hostname, NodeName                             string // cluster-announce-hostname, cluster-announce-human-nodename

	PreferredEndpoint EndpointType // cluster-preferred-endpoint-type
	LinkSendBytesMax  int64        // cluster-link-sendbuf-limit, 0: not set
}

// busPortOffset is where the bus listens above the client port.
const busPortOffset = 10000

// listenPort is the port of the bus.
func (s *Settings) listenPort() int {
	switch {
	case s.BusPort != 0:
		return s.BusPort
	case s.TLSCluster && s.TLSPort != 0, s.Port == 0:
		return s.TLSPort + busPortOffset
	}
	return s.Port + busPortOffset
}

func firstSet(a, b int) uint16 {
	if a != 0 {
		return uint16(a)
	}
	return uint16(b)
}

func (s *Settings) coreConfig(log *slog.Logger) core.Config {
	ip, ok := wire.ParseHost(s.AnnounceIP)
	if !ok {
		log.Warn("cluster-announce-ip is no address and is not announced", "value", s.AnnounceIP)
	}
	return core.Config{
		NodeTimeout:           max(clock.Millis(s.NodeTimeout.Milliseconds()), 1),
		PingInterval:          clock.Millis(s.PingInterval.Milliseconds()),
		ReplicaValidityFactor: s.ReplicaValidityFactor,
		ReplicaPingPeriod:     clock.Millis(s.ReplicaPingPeriod.Milliseconds()),
		MigrationBarrier:      s.MigrationBarrier,
		AllowReplicaMigration: s.AllowReplicaMigration,
		RequireFullCoverage:   s.RequireFullCoverage,
		ReplicaNoFailover:     s.ReplicaNoFailover,
		TLSCluster:            s.TLSCluster,
		TLSReplication:        s.TLSReplication,
		AnnounceIP:            ip,
		TCPPort:               firstSet(s.AnnouncePort, s.Port),
		TLSPort:               firstSet(s.AnnounceTLSPort, s.TLSPort),
		BusPort:               firstSet(s.AnnounceBusPort, s.listenPort()),
		Hostname:              s.Hostname,
		NodeName:              s.NodeName,
	}
}

// sendBytesDefault bounds a link's send queue when nothing is configured: more than a cluster says in a minute.
const sendBytesDefault = 64 << 20

func (s *Settings) sendBytesMax() int {
	if s.LinkSendBytesMax > 0 {
		return int(s.LinkSendBytesMax)
	}
	return sendBytesDefault
}
