package hll

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// This file holds what PFSELFTEST runs: registers that must not touch each other, and estimates that must not be off by more
// than chance allows.

const (
	selfTestRounds   = 50
	selfTestElements = 1_000_000 // some 50 ms
)

// SelfTest checks the package. The seed decides on its numbers.
func SelfTest(seed uint64, sparseMax int64) error {
	dice := seed
	for range selfTestRounds {
		if err := testRegisters(&dice); err != nil {
			return err
		}
	}
	return testEstimates(next(&dice), sparseMax)
}

// next is a step of the generator SplitMix64.
func next(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// testRegisters writes every register and reads them all.
func testRegisters(dice *uint64) error {
	b := make([]byte, DenseBytes)
	var want Ranks
	for i := range want {
		want[i] = uint8(next(dice) & registerMax)
		setRegister(b, i, want[i])
	}
	for i, rank := range want {
		if got := Register(b, i); got != rank {
			return fmt.Errorf("Register %d should be %d but is %d", i, rank, got)
		}
	}
	return nil
}

// testEstimates adds elements to a dense sketch and to one that begins sparse, and looks at the estimates at every power
// of ten.
func testEstimates(seed uint64, sparseMax int64) error {
	one, err := AppendDense(nil, AppendEmpty(nil))
	if err != nil {
		return err
	}
	other := AppendEmpty(nil)
	check := 1
	for i := 1; i <= selfTestElements; i++ {
		var element [8]byte
		binary.LittleEndian.PutUint64(element[:], uint64(i)^seed)
		index, rank := Place(element[:])
		one, _, _ = Raise(one, index, rank, sparseMax)
		if other, _, err = Raise(other, index, rank, sparseMax); err != nil {
			return err
		}
		if i < check {
			continue
		}
		if err := testEstimate(one, other, i, sparseMax); err != nil {
			return err
		}
		check *= 10
	}
	return nil
}

func testEstimate(one, other []byte, n int, sparseMax int64) error {
	if int64(n) < sparseMax/2 && IsDense(other) {
		return errors.New("sparse encoding not used")
	}
	a, err := Count(one)
	if err != nil {
		return err
	}
	if b, err := Count(other); err != nil || a != b {
		return errors.New("dense/sparse disagree")
	}
	off := math.Abs(float64(n) - float64(a))
	most := math.Ceil(6 * 1.04 / math.Sqrt(Registers) * float64(n)) // six times the standard error
	if off > most {
		return fmt.Errorf("Too big error. card:%d abserr:%.0f", n, off)
	}
	return nil
}
