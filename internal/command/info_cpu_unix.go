//go:build unix

package command

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// infoCPU tells the processor time of the process. The main thread of Redis is here all threads that serve clients.
func infoCPU(w *infoWriter) {
	show := func(name string, t unix.Timeval) { w.add(name, fmt.Sprintf("%d.%06d", t.Sec, t.Usec)) }
	for _, who := range []struct {
		suffix string
		id     int
	}{{"", unix.RUSAGE_SELF}, {"_children", unix.RUSAGE_CHILDREN}} {
		var u unix.Rusage
		if unix.Getrusage(who.id, &u) != nil {
			continue
		}
		show("used_cpu_sys"+who.suffix, u.Stime)
		show("used_cpu_user"+who.suffix, u.Utime)
	}
	if w.d.ServingTime != nil {
		user, system := w.d.ServingTime()
		show("used_cpu_sys_main_thread", unix.NsecToTimeval(system.Nanoseconds()))
		show("used_cpu_user_main_thread", unix.NsecToTimeval(user.Nanoseconds()))
	}
}
