package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	blockCommands  = 100 // SETs in a transaction
	blocksInFlight = 16
	blockClients   = 8
	blocks         = 40_000 // transactions of one run
	evals          = 600_000
)

// sessions compares transactions of a hundred commands, and scripts of one line, both sixteen deep.
func sessions(ours, theirs *node, rounds, scale int) error {
	fmt.Printf("\n%-22s %s\n", "pipeline 16", pairsHead)
	for _, test := range []struct {
		name string
		run  func(n *node) (sample, error)
	}{
		{"MULTI 100 SET EXEC", func(n *node) (sample, error) { return n.transactions(blocks / scale) }},
		{"EVAL of one GET", func(n *node) (sample, error) {
			return n.redisBenchmark(evals/scale, 16, "eval", "return redis.call('get',KEYS[1])", "1", "key:__rand_int__")
		}},
	} {
		var pairs pairs
		for range rounds {
			for i, n := range []*node{ours, theirs} {
				s, err := test.run(n)
				if err != nil {
					return err
				}
				pairs.add(i, s)
			}
		}
		fmt.Printf("%-22s ", test.name)
		pairs.print()
	}
	return nil
}

// transactions runs so many transactions on several connections; a request is one transaction.
func (n *node) transactions(count int) (sample, error) {
	var block strings.Builder
	block.WriteString("*1\r\n$5\r\nMULTI\r\n")
	for i := range blockCommands {
		fmt.Fprintf(&block, "*3\r\n$3\r\nSET\r\n$7\r\n{b}:%03d\r\n$5\r\nvalue\r\n", i)
	}
	block.WriteString("*1\r\n$4\r\nEXEC\r\n")
	const lines = 1 + blockCommands + 1 + blockCommands // +OK, +QUEUED of each, *100, +OK of each
	message := []byte(strings.Repeat(block.String(), blocksInFlight))
	turns := max(1, count/blockClients/blocksInFlight)
	var wait sync.WaitGroup
	failed := make(chan error, blockClients)
	cpu, own, began := n.cpu(), clockTime(unix.CLOCK_PROCESS_CPUTIME_ID), time.Now()
	for range blockClients {
		wait.Go(func() {
			if err := n.takeTurns(message, turns, lines*blocksInFlight); err != nil {
				failed <- err
			}
		})
	}
	wait.Wait()
	select {
	case err := <-failed:
		return sample{}, err
	default:
	}
	done := float64(turns * blocksInFlight * blockClients)
	took, client := time.Since(began), clockTime(unix.CLOCK_PROCESS_CPUTIME_ID)-own
	return sample{done / took.Seconds(), float64((n.cpu() - cpu).Microseconds()) / done, client.Seconds() / took.Seconds()}, nil
}

// takeTurns sends a message again and again, each time when the lines of the reply to the last one have come.
func (n *node) takeTurns(message []byte, turns, lines int) error {
	c, err := net.Dial("tcp", n.addr())
	if err != nil {
		return err
	}
	defer c.Close()
	in := bufio.NewReaderSize(c, 1<<16)
	for range turns {
		sent := make(chan error, 1)
		go func() {
			_, err := c.Write(message)
			sent <- err
		}()
		for range lines {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return err
			}
			if line[0] == '-' {
				return fmt.Errorf("%s answered %s", n.name, line)
			}
		}
		if err := <-sent; err != nil {
			return err
		}
	}
	return nil
}
