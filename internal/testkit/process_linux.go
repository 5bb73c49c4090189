package testkit

import "syscall"

// childAttributes make a server die with the test process, whatever ends it, and keep the terminal's signals from it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
