package resp

import "testing"

var setCommand = []byte("*3\r\n$3\r\nSET\r\n$16\r\nkey:000000012345\r\n$32\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n")

func BenchmarkParseSet(b *testing.B) {
	var p Parser
	var cmd Command
	b.ReportAllocs()
	for b.Loop() {
		if n, err := p.Parse(setCommand, &cmd); n != len(setCommand) || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkParseSetCareful(b *testing.B) {
	var p Parser
	var cmd Command
	b.ReportAllocs()
	for b.Loop() {
		if n, err := p.resume(setCommand, &cmd); n != len(setCommand) || err != nil {
			b.Fatal(n, err)
		}
	}
}
