package manager

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

// pollPeriod is how often a state that is waited for is looked at.
const pollPeriod = 50 * time.Millisecond

// await polls until done says yes.
func await(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	var last error
	for {
		ok, err := done()
		if ok {
			return nil
		}
		last = err
		select {
		case <-ctx.Done():
			if last != nil {
				return last
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Create forms a cluster of empty nodes. conns are connections to the nodes in the order of the plan.
func Create(ctx context.Context, conns []*Conn, plan Plan) error {
	for i, r := range plan.Ranges {
		if _, err := conns[i].Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(int(r.First)), strconv.Itoa(int(r.Last))); err != nil {
			return err
		}
	}
	for i, c := range conns {
		if _, err := c.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
	}
	if err := meet(ctx, conns); err != nil {
		return fmt.Errorf("the nodes did not find each other: %w", err)
	}
	if err := follow(ctx, conns, plan); err != nil {
		return err
	}
	if err := await(ctx, func() (bool, error) { return allSee(conns, len(plan.Replicas)) }); err != nil {
		return fmt.Errorf("the nodes do not agree on their roles: %w", err)
	}
	if err := await(ctx, func() (bool, error) { return allHealthy(conns) }); err != nil {
		return fmt.Errorf("the cluster did not become healthy: %w", err)
	}
	return nil
}

// meetPeriod is how long introductions may take before they are repeated. A node gives a handshake up after its node timeout,
// a second at least, and does not begin it again: on a busy machine that is soon.
const meetPeriod = 3 * time.Second

// meet introduces the nodes until all of them know each other.
func meet(ctx context.Context, conns []*Conn) error {
	var next time.Time
	return await(ctx, func() (bool, error) {
		if now := time.Now(); now.After(next) {
			next = now.Add(meetPeriod)
			if err := meetAll(conns); err != nil {
				return false, err
			}
		}
		return allKnow(conns, len(conns))
	})
}

// meetAll introduces every node to all before it. One introduction each would do, as gossip does the rest; but gossip takes
// its time.
func meetAll(conns []*Conn) error {
	for i, known := range conns {
		host, port, err := net.SplitHostPort(known.Addr)
		if err != nil {
			return err
		}
		for _, c := range conns[i+1:] {
			if _, err := c.Do("CLUSTER", "MEET", host, port); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow makes the replicas follow their primaries.
func follow(ctx context.Context, conns []*Conn, plan Plan) error {
	for i, primary := range plan.Replicas {
		id, err := conns[primary].Do("CLUSTER", "MYID")
		if err != nil {
			return err
		}
		replica := conns[len(plan.Ranges)+i]
		if err := await(ctx, func() (bool, error) {
			_, err := replica.Do("CLUSTER", "REPLICATE", string(id.Str))
			return err == nil, err
		}); err != nil {
			return err
		}
	}
	return nil
}

func allKnow(conns []*Conn, n int) (bool, error) {
	for _, c := range conns {
		nodes, err := Nodes(c)
		if err != nil {
			return false, err
		}
		settled := 0
		for _, node := range nodes {
			if !node.Has("handshake") {
				settled++
			}
		}
		if settled != n {
			return false, nil
		}
	}
	return true, nil
}

func allHealthy(conns []*Conn) (bool, error) {
	for _, c := range conns {
		ok, err := Healthy(c)
		if !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// allSee says whether every node knows of so many replicas.
func allSee(conns []*Conn, replicas int) (bool, error) {
	for _, c := range conns {
		nodes, err := Nodes(c)
		if err != nil {
			return false, err
		}
		seen := 0
		for _, node := range nodes {
			if node.Role() == "replica" {
				seen++
			}
		}
		if seen != replicas {
			return false, nil
		}
	}
	return true, nil
}
