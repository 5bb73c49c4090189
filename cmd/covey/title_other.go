//go:build !linux

package main

// setTitle has no effect here.
func setTitle(string) {}
