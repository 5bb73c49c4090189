package replication

import (
	"fmt"
	"net"
	"sort"
	"strconv"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// Info is the section Replication of INFO, as name and value pairs in Redis's order.
func (m *Manager) Info() [][2]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.opts.Settings()
	h := m.e.Log.History()
	out := [][2]string{{"role", "master"}}
	add := func(name string, value any) { out = append(out, [2]string{name, fmt.Sprint(value)}) }
	if f := m.mu.follow; f != nil {
		out[0][1] = "slave"
		f.info(add, h)
		add("slave_priority", s.Priority)
		add("slave_read_only", bit(m.e.Settings.ReplicaReadOnly.Load()))
		add("replica_announced", bit(s.Announced))
	}
	list := m.onlineLocked()
	add("connected_slaves", len(list))
	if s.MinReplicas > 0 {
		add("min_slaves_good_slaves", m.e.Role.GoodReplicas())
	}
	for i, r := range list {
		host, port := cutPort(r.name())
		lag := int64(0)
		if r.online() {
			lag = int64(time.Since(r.lastAck()) / time.Second)
		}
		add("slave"+strconv.Itoa(i), fmt.Sprintf("ip=%s,port=%s,state=%s,offset=%d,lag=%d", host, port, r.stateText(), r.ack.Load(), lag))
	}
	state := "no-failover"
	if m.mu.failover != nil {
		state = m.mu.failover.phase.String()
	}
	add("master_failover_state", state)
	add("master_replid", h.ID)
	add("master_replid2", h.ID2)
	add("master_repl_offset", h.End)
	add("second_repl_offset", h.ID2Valid)
	add("repl_backlog_active", bit(h.On))
	add("repl_backlog_size", h.KeepBytes)
	first, length := int64(0), int64(0)
	if h.On {
		first, length = h.Start+1, h.End-h.Start
	}
	add("repl_backlog_first_byte_offset", first)
	add("repl_backlog_histlen", length)
	return out
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (f *follower) info(add func(string, any), h engine.History) {
	host, port, _ := net.SplitHostPort(f.addr)
	add("master_host", host)
	add("master_port", port)
	status := "down"
	if f.phase() == linkConnected {
		status = "up"
	}
	add("master_link_status", status)
	last := int64(-1)
	if at := f.lastIO.Load(); at != 0 && f.phase() == linkConnected {
		last = int64(time.Since(time.Unix(0, at)) / time.Second)
	}
	add("master_last_io_seconds_ago", last)
	add("master_sync_in_progress", bit(f.phase() == linkSync))
	add("slave_read_repl_offset", h.End+f.ahead.Load())
	add("slave_repl_offset", h.End)
	if f.phase() == linkSync {
		f.syncInfo(add)
	}
	if f.phase() != linkConnected {
		down := int64(-1)
		if at := f.downAt.Load(); at != 0 {
			down = int64(time.Since(time.Unix(0, at)) / time.Second)
		}
		add("master_link_down_since_seconds", down)
	}
}

// syncInfo tells how far a full synchronisation is.
func (f *follower) syncInfo(add func(string, any)) {
	size, read, percent := f.syncSize.Load(), f.syncRead.Load(), 0.0
	if size > 0 {
		percent = 100 * float64(read) / float64(size)
	}
	add("master_sync_total_bytes", size)
	add("master_sync_read_bytes", read)
	add("master_sync_left_bytes", size-read)
	add("master_sync_perc", fmt.Sprintf("%.2f", percent))
	add("master_sync_last_io_seconds_ago", int64(time.Since(time.Unix(0, f.lastIO.Load()))/time.Second))
}

func (r *replica) stateText() string {
	switch replicaState(r.state.Load()) {
	case waitSnapshot, sendSnapshot:
		return "wait_bgsave"
	case sendFile, waitFirstAck:
		return "send_bulk"
	}
	return "online"
}

// onlineLocked lists the replicas by id; mu is held.
func (m *Manager) onlineLocked() []*replica {
	list := make([]*replica, 0, len(m.mu.replicas))
	for _, r := range m.mu.replicas {
		list = append(list, r)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
	return list
}

// Sending says whether a snapshot for replicas is being made.
func (m *Manager) Sending() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for t := range m.mu.transfers {
		if t.guarded.id != "" {
			return true
		}
	}
	return false
}

// ReplicaCount is the number of replicas that are connected.
func (m *Manager) ReplicaCount() int { return m.replicaCount() }

func (m *Manager) countOut(n int) { m.e.ReplOut.Add(int64(n)) }
