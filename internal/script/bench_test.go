package script

import (
	"testing"
	"time"

	"github.com/covey-db/covey/internal/resp"
)

func benchmark(b *testing.B, body string) {
	vm := newTestVM()
	p, err := Compile(body, SHA1(body))
	if err != nil {
		b.Fatal(err)
	}
	keys := [][]byte{[]byte("key:1")}
	host := &testHost{vm: vm, until: time.Now().Add(time.Hour)}
	b.ReportAllocs()
	for b.Loop() {
		r := &Reply{Out: vm.Buffer(), Proto: resp.RESP2, Err: func(string, bool) {}}
		vm.Eval(host, p, keys, keys, r)
		vm.KeepBuffer(r.Out)
	}
}

func BenchmarkReturn(b *testing.B) { benchmark(b, "return 1") }
func BenchmarkCall(b *testing.B) {
	benchmark(b, "return redis.call('raw', '+OK\\r\\n', KEYS[1], ARGV[1])")
}
func BenchmarkLoop(b *testing.B) { benchmark(b, "local s=0 for i=1,100 do s=s+i end return s") }
