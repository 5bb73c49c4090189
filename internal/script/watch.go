package script

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"
)

const (
	stringMax    = 512 << 20 // bytes of a string that a script makes
	lookSteps    = 1 << 10   // instructions between two looks: about 20 µs
	heapSteps    = 1 << 14   // instructions between two looks at the heap
	scriptBytes  = 512 << 20 // how far the heap may grow while one script runs
	chargedShare = 8         // the heap is looked at each time a script has asked for this part of it
	longBytes    = 64 << 10  // what is made of more takes as long as many instructions
	levelsMax    = 190       // functions of ours and of scripts that call each other through Go's stack
)

// watch is the context of a machine. The interpreter asks for Done before each instruction, so this is where scripts are
// counted and ended. One goroutine uses it, except for stop.
type watch struct {
	vm      *VM
	steps   int
	charged int64 // bytes since the last look at the heap
	base    uint64
	ended   chan struct{} // closed once the script has to end
	dead    bool
	why     error
	stop    atomic.Pointer[error] // set by another goroutine: why the script has to end
	onLook  func()
	sample  []metrics.Sample
	nested  int
	limit   uint64 // how far the heap may grow
}

func newWatch(vm *VM, limit uint64) *watch {
	w := &watch{vm: vm, limit: limit, ended: make(chan struct{}), sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	close(w.ended)
	return w
}

// reset begins the watch over a script.
func (w *watch) reset(onLook func()) {
	w.steps, w.charged, w.base, w.dead, w.why, w.nested = 0, 0, 0, false, nil, 0
	w.onLook = onLook
	if w.stop.Load() != nil {
		w.stop.Store(nil)
	}
}

// errNoMemory is what a script hears that wants too much.
var errNoMemory = errors.New("not enough memory")

// Done implements context.Context.
func (w *watch) Done() <-chan struct{} {
	w.steps++
	if w.steps&(lookSteps-1) != 0 && !w.dead && w.stop.Load() == nil {
		return nil // one instruction may take long, so that an order to stop does not wait for the next look
	}
	w.look()
	if w.dead {
		return w.ended
	}
	return nil
}

// Err implements context.Context.
func (w *watch) Err() error { return w.why }

// Deadline implements context.Context.
func (w *watch) Deadline() (t time.Time, ok bool) { return t, false }

// Value implements context.Context.
func (w *watch) Value(any) any { return nil }

var _ context.Context = (*watch)(nil)

func (w *watch) look() {
	if w.dead {
		return
	}
	if w.onLook != nil {
		w.onLook()
	}
	if why := w.stop.Load(); why != nil {
		w.end(*why)
		return
	}
	if w.steps&(heapSteps-1) == 0 {
		w.lookAtHeap()
	}
}

func (w *watch) end(why error) { w.dead, w.why = true, why }

// lookAtHeap ends the script when the heap has grown too far since its first look.
func (w *watch) lookAtHeap() {
	w.charged = 0
	metrics.Read(w.sample)
	now := w.sample[0].Value.Uint64()
	switch {
	case w.base == 0 || now < w.base:
		w.base = now
	case now-w.base > w.limit:
		runtime.GC() // what the heap holds may be dead
		metrics.Read(w.sample)
		if now = w.sample[0].Value.Uint64(); now > w.base && now-w.base > w.limit {
			w.end(errNoMemory)
		}
	}
}

// step counts a step of a loop of ours and ends the script from there when need be.
func (w *watch) step(L *lua.LState) {
	if w.Done() != nil {
		L.RaiseError("%s", w.why.Error())
	}
}

// charge counts bytes that a script is about to get.
func (vm *VM) charge(n int) {
	w := vm.watch
	if n > longBytes && w.onLook != nil {
		w.onLook()
	}
	w.charged += int64(n)
	if w.charged < int64(w.limit/chargedShare) {
		return
	}
	n = int(w.charged)
	w.lookAtHeap()
	if w.base > 0 && uint64(n) > w.limit {
		w.end(errNoMemory)
	}
	if w.dead {
		vm.L.RaiseError("%s", w.why.Error())
	}
}

// enter and leave frame a call from ours back into the script: each is a piece of Go's stack.
func (vm *VM) enter(L *lua.LState) {
	vm.watch.nested++
	if vm.watch.nested > levelsMax {
		L.RaiseError("C stack overflow")
	}
}

func (vm *VM) leave() { vm.watch.nested-- }
