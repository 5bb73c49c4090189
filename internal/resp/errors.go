package resp

// ProtocolError is a breach of the protocol by the peer, with the text that Redis answers, without its "ERR ". The
// connection cannot go on: after an error nobody knows where the next command starts.
type ProtocolError struct {
	Text string // may hold CR or LF when the peer sent one in place of a '$'; AppendError makes it one line
}

func (e *ProtocolError) Error() string { return e.Text }

// The errors of a Parser whose text does not depend on the bytes. Never written after start.
var (
	errBigInline             = &ProtocolError{"Protocol error: too big inline request"}
	errUnbalanced            = &ProtocolError{"Protocol error: unbalanced quotes in request"}
	errBigCount              = &ProtocolError{"Protocol error: too big mbulk count string"}
	errBadCount              = &ProtocolError{"Protocol error: invalid multibulk length"}
	errUnauthenticatedCount  = &ProtocolError{"Protocol error: unauthenticated multibulk length"}
	errBigLength             = &ProtocolError{"Protocol error: too big bulk count string"}
	errBadLength             = &ProtocolError{"Protocol error: invalid bulk length"}
	errUnauthenticatedLength = &ProtocolError{"Protocol error: unauthenticated bulk length"}
)
