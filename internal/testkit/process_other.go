//go:build !linux

package testkit

import "syscall"

// childAttributes keep the terminal's signals from a server.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
