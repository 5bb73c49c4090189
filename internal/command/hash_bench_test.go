package command

import (
	"fmt"
	"testing"

	"github.com/covey-db/covey/internal/resp"
)

// benchCommands measures how long the session takes for commands, the parser and the log included.
func benchCommands(b *testing.B, commands [][]byte) {
	h := newHarness(b)
	h.script("HSET small a 1 b 2 c 3 d 4 e 5 f 6 g 7 h 8")
	for i := range 100_000 {
		h.args("HSET", "big", fmt.Sprint("element:", i), "xxx")
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		in := commands[i%len(commands)]
		i++
		if used := h.s.Process(h.w, in); used != len(in) {
			b.Fatal("the command was not taken")
		}
		h.w.Out.Reset()
		if i%1000 == 0 {
			h.stream()
		}
	}
}

func encodedWords(args ...string) []byte {
	words := make([][]byte, len(args))
	for i, a := range args {
		words[i] = []byte(a)
	}
	return resp.AppendCommand(nil, words...)
}

func BenchmarkHSetBig(b *testing.B) {
	var list [][]byte
	for i := range 1 << 14 {
		list = append(list, encodedWords("HSET", "big", fmt.Sprint("element:", i*7919%100_000), "yyy"))
	}
	benchCommands(b, list)
}

func BenchmarkHSetSmall(b *testing.B) {
	benchCommands(b, [][]byte{encodedWords("HSET", "small", "d", "9")})
}
func BenchmarkHSetSmallGrow(b *testing.B) {
	benchCommands(b, [][]byte{encodedWords("HSET", "small", "d", "longer value"), encodedWords("HSET", "small", "d", "short")})
}
func BenchmarkHGet(b *testing.B)    { benchCommands(b, [][]byte{encodedWords("HGET", "small", "d")}) }
func BenchmarkHGetAll(b *testing.B) { benchCommands(b, [][]byte{encodedWords("HGETALL", "small")}) }
func BenchmarkHIncrBy(b *testing.B) {
	benchCommands(b, [][]byte{encodedWords("HINCRBY", "small", "a", "1")})
}
