package server

import (
	"cmp"
	"path/filepath"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/bus"
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// busPortOffset is what is added to the client port where cluster-port is not set.
const busPortOffset = 10000

func (s *Server) newBus() (*bus.Bus, error) {
	return bus.New(bus.Options{
		Engine: s.engine, Replication: s.repl, Settings: s.clusterSettings, Log: s.log,
		ConfFile: s.inDir(s.store.String("cluster-config-file")), Bind: s.store.Strings("bind"), BusPort: s.busPort(), Dial: s.dialPeer, Secure: s.acceptPeer,
		Deliver: func(channel, message []byte, sharded bool) { s.engine.Publish(nil, channel, message, sharded) },
	})
}

// inDir is a path seen from the data directory.
func (s *Server) inDir(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.store.String("dir"), path)
}

func (s *Server) busPort() int {
	if p := int(s.store.Int("cluster-port")); p != 0 {
		return p
	}
	port := "port"
	if s.store.Bool("tls-cluster") {
		port = "tls-port"
	}
	return int(s.store.Int(port)) + busPortOffset
}

var endpointKinds = map[string]bus.EndpointKind{
	"ip": bus.EndpointIP, "hostname": bus.EndpointHostname, "unknown-endpoint": bus.EndpointUnknown,
}

// clusterSettings are what the configuration says of the cluster now.
func (s *Server) clusterSettings() bus.Settings {
	c := s.store.Snapshot()
	port, busPort := c.Int("cluster-announce-port"), c.Int("cluster-announce-bus-port")
	if port == 0 {
		port = c.Int("port")
	}
	tlsPort := cmp.Or(c.Int("cluster-announce-tls-port"), c.Int("tls-port"))
	if busPort == 0 {
		busPort = int64(s.busPort())
	}
	set := bus.Settings{
		Endpoint:         endpointKinds[c.String("cluster-preferred-endpoint-type")],
		LinkSendBytesMax: c.Int("cluster-link-sendbuf-limit"),
	}
	set.Core = core.Config{
		NodeTimeout:           clock.Millis(c.Int("cluster-node-timeout")),
		PingInterval:          clock.Millis(c.Int("cluster-ping-interval")),
		ReplicaValidityFactor: c.Int("cluster-replica-validity-factor"),
		ReplicaPingPeriod:     clock.Millis(c.Int("repl-ping-replica-period") * 1000),
		MigrationBarrier:      int(c.Int("cluster-migration-barrier")),
		AllowReplicaMigration: c.Bool("cluster-allow-replica-migration"),
		RequireFullCoverage:   c.Bool("cluster-require-full-coverage"),
		ReplicaNoFailover:     c.Bool("cluster-replica-no-failover"),
		TLSCluster:            c.Bool("tls-cluster"),
		TLSReplication:        c.Bool("tls-replication"),
		TCPPort:               uint16(port),
		TLSPort:               uint16(tlsPort),
		BusPort:               uint16(busPort),
		Hostname:              c.String("cluster-announce-hostname"),
		NodeName:              c.String("cluster-announce-human-nodename"),
	}
	set.Core.AnnounceIP, _ = wire.ParseHost(c.String("cluster-announce-ip"))
	return set
}

// linkBreaker is the bus for DEBUG. Commands are made before the bus is.
type linkBreaker struct{ s *Server }

// DropPackets implements command.LinkBreaker.
func (l linkBreaker) DropPackets(kind int64) { l.s.bus.DropPackets(kind) }

// KillLinks implements command.LinkBreaker.
func (l linkBreaker) KillLinks(id string, to, from bool) (known bool) {
	return l.s.bus.KillLinks(id, to, from)
}
