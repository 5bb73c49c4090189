package core

import (
	"errors"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// Options is what a node is made from.
type Options struct {
	// Config is the configuration at start.
	Config Config
	// Seed feeds the random numbers: node ids come from it, so it must be different for every start and hard to guess.
	Seed [4]uint64
	// Conf is the content of nodes.conf, nil or empty for a node that has never run.
	Conf *wire.Conf
}

// Config is the part of the configuration that concerns the cluster. All of it can be changed while the node runs.
type Config struct {
	// NodeTimeout is cluster-node-timeout.
	NodeTimeout clock.Millis
	// PingInterval is cluster-ping-interval: how old a pong may get before a node is pinged, 0 for half of NodeTimeout.
	PingInterval clock.Millis
	// ReplicaValidityFactor is cluster-replica-validity-factor, 0 for "any data is good enough".
	ReplicaValidityFactor int64
	// ReplicaPingPeriod is repl-ping-replica-period.
	ReplicaPingPeriod clock.Millis
	// MigrationBarrier is cluster-migration-barrier.
	MigrationBarrier int
	// AllowReplicaMigration is cluster-allow-replica-migration.
	AllowReplicaMigration bool
	// RequireFullCoverage is cluster-require-full-coverage.
	RequireFullCoverage bool
	// ReplicaNoFailover is cluster-replica-no-failover.
	ReplicaNoFailover bool
	// TLSCluster and TLSReplication are tls-cluster and tls-replication.
	TLSCluster, TLSReplication bool
	// AnnounceIP is cluster-announce-ip; if it is not set the node learns its address from its peers.
	AnnounceIP wire.Host
	// TCPPort, TLSPort and BusPort are what is announced, after cluster-announce-port and its kin; 0 if there is none.
	TCPPort, TLSPort, BusPort uint16
	// Hostname is cluster-announce-hostname, NodeName cluster-announce-human-nodename; "" if not set.
	Hostname, NodeName string
}

// DefaultConfig is the configuration Redis starts with.
func DefaultConfig() Config {
	return Config{
		NodeTimeout:           15000,
		ReplicaValidityFactor: 10,
		ReplicaPingPeriod:     10000,
		MigrationBarrier:      1,
		AllowReplicaMigration: true,
		RequireFullCoverage:   true,
		TCPPort:               6379,
		BusPort:               16379,
	}
}

// nodeTimeoutMin keeps the arithmetic of delays sane, in milliseconds; no cluster works with less than some ticks.
const nodeTimeoutMin = 1

func (c *Config) validate() error {
	switch {
	case c.NodeTimeout < nodeTimeoutMin:
		return errors.New("core: node timeout must be positive")
	case c.PingInterval < 0, c.ReplicaPingPeriod < 0, c.ReplicaValidityFactor < 0, c.MigrationBarrier < 0:
		return errors.New("core: negative period, factor or barrier")
	case c.Hostname != "" && !wire.IsHostname(c.Hostname):
		return errors.New("core: invalid host name")
	case c.NodeName != "" && !wire.IsNodeName(c.NodeName):
		return errors.New("core: invalid node name")
	}
	return nil
}

// pingInterval is how old a pong may get before its node is pinged.
func (c *Config) pingInterval() clock.Millis {
	if c.PingInterval > 0 {
		return c.PingInterval
	}
	return c.NodeTimeout / 2
}

// onConfigure takes a new configuration; one that does not validate is the driver's mistake and changes nothing.
func (c *Core) onConfigure(cfg Config) {
	if err := cfg.validate(); err != nil {
		c.log(Error, "configuration refused: "+err.Error())
		return
	}
	if cfg.AnnounceIP.IsZero() && !c.cfg.AnnounceIP.IsZero() {
		c.me.ip, c.reached = wire.Host{}, false // to be learned from the peers again
	}
	c.cfg = cfg
	c.applyConfig()
	c.save(saveSoon)
	c.todo.state = true
}

// applyConfig copies into this node's entry of the table what is announced.
func (c *Core) applyConfig() {
	me := c.me
	me.tcpPort, me.tlsPort, me.busPort = c.cfg.TCPPort, c.cfg.TLSPort, c.cfg.BusPort
	if !c.cfg.AnnounceIP.IsZero() {
		me.ip = c.cfg.AnnounceIP
	}
	me.hostname, me.name = c.cfg.Hostname, c.cfg.NodeName
	me.flags &^= wire.FlagNoFailover
	if c.cfg.ReplicaNoFailover {
		me.flags |= wire.FlagNoFailover
	}
	c.out.routes = true
}
