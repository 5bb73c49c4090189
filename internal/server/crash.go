package server

import (
	"fmt"
	"runtime"

	"github.com/covey-db/covey/internal/command"
)

// stackBytesMax bounds the stacks in the report of a crash.
const stackBytesMax = 4 << 20

// ReportCrash logs that a signal ends the process, and where its goroutines are.
func (s *Server) ReportCrash(signal int) {
	s.log.Error(fmt.Sprintf("Covey %s (Redis %s) crashed by signal: %d", Version, command.RedisVersion, signal))
	stacks := make([]byte, stackBytesMax)
	s.log.Error("------ STACK TRACE ------\n" + string(stacks[:runtime.Stack(stacks, true)]))
}
