package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
)

const memoryKeys = 5_000_000

// memory compares resident bytes a key, with keys of 16 bytes and values of 32.
func memory(ours, theirs *node, scale int) error {
	keys := memoryKeys / scale
	var per [2]float64
	for i, n := range []*node{ours, theirs} {
		if err := n.flush(); err != nil {
			return err
		}
		before := n.resident()
		if err := n.fill(keys); err != nil {
			return err
		}
		per[i] = float64(n.resident()-before) / float64(keys)
	}
	fmt.Printf("\nresident bytes a key (16 B keys, 32 B values, %d keys): covey %.1f, redis %.1f, ratio %.2f\n", keys, per[0], per[1], per[0]/per[1])
	return nil
}

func (n *node) flush() error {
	c, err := net.Dial("tcp", n.addr())
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, "FLUSHALL\r\n"); err != nil {
		return err
	}
	_, err = bufio.NewReader(c).ReadString('\n')
	return err
}

// fill writes keys "key:000000000000" with a pipeline.
func (n *node) fill(keys int) error {
	c, err := net.Dial("tcp", n.addr())
	if err != nil {
		return err
	}
	defer c.Close()
	done := make(chan error, 1)
	go func() {
		in := bufio.NewReaderSize(c, 1<<16)
		for range keys {
			line, err := in.ReadString('\n')
			if err == nil && !strings.HasPrefix(line, "+OK") {
				err = fmt.Errorf("%s answered %s", n.name, line)
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	out := bufio.NewWriterSize(c, 1<<16)
	value := strings.Repeat("v", 32)
	for i := range keys {
		fmt.Fprintf(out, "*3\r\n$3\r\nSET\r\n$16\r\nkey:%012d\r\n$32\r\n%s\r\n", i, value)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return <-done
}
