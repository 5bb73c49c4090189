package engine

import "sync/atomic"

// RoleState is what commands must know of replication; the replication package writes it.
type RoleState struct {
	e            *Engine
	replica      atomic.Bool
	linkUp       atomic.Bool  // the link to the primary is up and synchronised
	goodReplicas atomic.Int64 // replicas within min-replicas-max-lag
}

// IsReplica says whether this node follows a primary.
func (r *RoleState) IsReplica() bool { return r.replica.Load() }

// SetReplica changes the role. The caller holds all shard locks, so that no write is between two roles. Who waits for
// something that only a primary can give is told so and leaves.
func (r *RoleState) SetReplica(on bool) {
	if !r.replica.Swap(on) && on {
		r.e.disconnectBlocked()
	}
}

// errRoleChanged is what clients read whose wait a change of role has made pointless.
const errRoleChanged = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"

func (e *Engine) disconnectBlocked() {
	for _, s := range e.Clients.All() {
		if w, kind := s.waiting(); kind == WaitKeys || kind == WaitAcks {
			w.resume(func(c *Ctx) {
				c.Err(errRoleChanged)
				c.CloseAfterReply()
			}, true)
		}
	}
}

// SetLinkUp says whether the data follows the primary.
func (r *RoleState) SetLinkUp(up bool) { r.linkUp.Store(up) }

// SetGoodReplicas tells how many replicas are within the allowed lag.
func (r *RoleState) SetGoodReplicas(n int) { r.goodReplicas.Store(int64(n)) }

// GoodReplicas is what SetGoodReplicas told.
func (r *RoleState) GoodReplicas() int { return int(r.goodReplicas.Load()) }
