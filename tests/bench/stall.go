package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sort"
	"time"
)

// stall measures how long a GET takes on one connection while another runs KEYS * over all keys. The keys of the memory
// step are there; with -only stall they are made first.
func stall(ours, theirs *node, scale int) error {
	fmt.Println()
	for _, n := range []*node{ours, theirs} {
		if err := n.flush(); err != nil {
			return err
		}
		if err := n.fill(memoryKeys / scale); err != nil {
			return err
		}
		worst, p99, took, err := n.duringKeys()
		if err != nil {
			return err
		}
		fmt.Printf("GET while KEYS * runs over %d keys (%.2f s): %s worst %.2f ms, p99 %.2f ms\n", memoryKeys/scale, took.Seconds(), n.name,
			worst.Seconds()*1e3, p99.Seconds()*1e3)
	}
	return nil
}

func (n *node) duringKeys() (worst, p99, took time.Duration, err error) {
	slow, err := net.Dial("tcp", n.addr())
	if err != nil {
		return 0, 0, 0, err
	}
	defer slow.Close()
	fast, err := net.Dial("tcp", n.addr())
	if err != nil {
		return 0, 0, 0, err
	}
	defer fast.Close()
	begin := time.Now()
	if _, err := io.WriteString(slow, "KEYS *\r\n"); err != nil {
		return 0, 0, 0, err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := slow.Read(make([]byte, 1)) // the first byte: the walk is over
		ended <- err
		_, _ = io.Copy(io.Discard, slow)
	}()
	in := bufio.NewReader(fast)
	var list []time.Duration
	for {
		select {
		case err := <-ended:
			took = time.Since(begin)
			sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
			if len(list) == 0 {
				return took, took, took, err
			}
			return list[len(list)-1], list[len(list)*99/100], took, err
		default:
		}
		start := time.Now()
		if _, err := io.WriteString(fast, "GET key:000000000001\r\n"); err != nil {
			return 0, 0, 0, err
		}
		for range 2 {
			if _, err := in.ReadString('\n'); err != nil {
				return 0, 0, 0, err
			}
		}
		list = append(list, time.Since(start))
	}
}
