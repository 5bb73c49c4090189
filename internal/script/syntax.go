package script

import "fmt"

// The interpreter's parser takes a later version of the language than the reference implementation, and has other words for
// what it does not take. So a source is read here first, by the grammar of Lua 5.1 (the reference manual, 8), only to find out
// whether it is a program and to complain as the reference implementation does. What nests too deeply has been refused before.

// checkSyntax says why a source is no program.
func checkSyntax(source, name string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*syntaxError)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	s := &syntax{lexer: lexer{src: source, name: name, line: 1}, variadic: true}
	s.advance()
	s.chunk()
	s.demand(tokenEOF)
	return nil
}

// syntax reads a program by recursive descent.
type syntax struct {
	lexer
	now      token // the one that is looked at
	ahead    *token
	lastLine int  // of the token before it
	variadic bool // the function that is read has arguments without names
	loops    int  // around the place, in that function
}

func (s *syntax) advance() {
	s.lastLine = s.now.line
	if s.ahead != nil {
		s.now, s.ahead = *s.ahead, nil
		return
	}
	s.now = s.next()
}

// complain is fail at the token that is looked at. A zero byte is not shown.
func (s *syntax) complain(text string) {
	if s.now.kind == "\x00" {
		panic(&syntaxError{fmt.Sprintf("%s:%d: %s", s.name, s.line, text)})
	}
	s.fail(text, s.now.text)
}

// accept passes over a token if it is there.
func (s *syntax) accept(kind string) bool {
	if s.now.kind != kind {
		return false
	}
	s.advance()
	return true
}

// demand is for a token that must be there, which stays.
func (s *syntax) demand(kind string) {
	if s.now.kind != kind {
		s.complain("'" + kind + "' expected")
	}
}

func (s *syntax) expect(kind string) {
	s.demand(kind)
	s.advance()
}

// close is expect for the end of what began with a word or a sign on a line.
func (s *syntax) close(kind, opened string, line int) {
	if s.now.kind != kind && line != s.line {
		s.complain(fmt.Sprintf("'%s' expected (to close '%s' at line %d)", kind, opened, line))
	}
	s.expect(kind)
}

// ends says whether the token ends a block.
func (s *syntax) ends() bool {
	switch s.now.kind {
	case "else", "elseif", "end", "until", tokenEOF:
		return true
	}
	return false
}

func (s *syntax) chunk() {
	for last := false; !last && !s.ends(); s.accept(";") {
		last = s.statement()
	}
}

// loop reads the body of a loop.
func (s *syntax) loop() {
	s.loops++
	s.chunk()
	s.loops--
}

// statement reads a statement; last says that none may follow.
func (s *syntax) statement() (last bool) {
	line := s.line
	switch s.now.kind {
	case "if":
		s.branches(line)
	case "while":
		s.advance()
		s.expression()
		s.expect("do")
		s.loop()
		s.close("end", "while", line)
	case "do":
		s.advance()
		s.chunk()
		s.close("end", "do", line)
	case "for":
		s.forLoop(line)
	case "repeat":
		s.advance()
		s.loop()
		s.close("until", "repeat", line)
		s.expression()
	case "function":
		s.function(line)
	case "local":
		s.local()
	case "return":
		s.advance()
		if !s.ends() && s.now.kind != ";" {
			s.expressions()
		}
		return true
	case "break":
		s.advance()
		if s.loops == 0 {
			s.complain("no loop to break")
		}
		return true
	default:
		s.simple()
	}
	return false
}

func (s *syntax) branches(line int) {
	for s.now.kind == "if" || s.now.kind == "elseif" {
		s.advance()
		s.expression()
		s.expect("then")
		s.chunk()
	}
	if s.accept("else") {
		s.chunk()
	}
	s.close("end", "if", line)
}

func (s *syntax) forLoop(line int) {
	s.advance()
	s.expect(tokenName)
	switch s.now.kind {
	case "=":
		s.advance()
		s.expression()
		s.expect(",")
		s.expression()
		if s.accept(",") {
			s.expression()
		}
	case ",", "in":
		for s.accept(",") {
			s.expect(tokenName)
		}
		s.expect("in")
		s.expressions()
	default:
		s.complain("'=' or 'in' expected")
	}
	s.expect("do")
	s.loop()
	s.close("end", "for", line)
}

func (s *syntax) function(line int) {
	s.advance()
	s.expect(tokenName)
	for s.accept(".") {
		s.expect(tokenName)
	}
	if s.accept(":") {
		s.expect(tokenName)
	}
	s.body(line)
}

func (s *syntax) local() {
	s.advance()
	if s.accept("function") {
		s.expect(tokenName)
		s.body(s.line)
		return
	}
	s.expect(tokenName)
	for s.accept(",") {
		s.expect(tokenName)
	}
	if s.accept("=") {
		s.expressions()
	}
}

// body reads the arguments and the block of a function.
func (s *syntax) body(line int) {
	variadic, loops := s.variadic, s.loops
	s.variadic, s.loops = false, 0
	s.expect("(")
	for s.now.kind != ")" {
		switch {
		case s.accept("..."):
			s.variadic = true
		case !s.accept(tokenName):
			s.complain("<name> or '...' expected")
		}
		if s.variadic || !s.accept(",") {
			break
		}
		if s.now.kind == ")" {
			s.complain("<name> or '...' expected")
		}
	}
	s.expect(")")
	s.chunk()
	s.close("end", "function", line)
	s.variadic, s.loops = variadic, loops
}

// simple reads a call or an assignment.
func (s *syntax) simple() {
	called, assignable := s.primary()
	if called {
		return
	}
	for {
		if !assignable {
			s.complain("syntax error")
		}
		if !s.accept(",") {
			break
		}
		called, assignable = s.primary()
		assignable = assignable && !called
	}
	s.expect("=")
	s.expressions()
}

func (s *syntax) expressions() {
	s.expression()
	for s.accept(",") {
		s.expression()
	}
}

// expression reads operands with operators; which of them bind more strongly does not matter here.
func (s *syntax) expression() {
	for {
		for s.now.kind == "not" || s.now.kind == "-" || s.now.kind == "#" {
			s.advance()
		}
		s.operand()
		switch s.now.kind {
		case "+", "-", "*", "/", "%", "^", "..", "~=", "==", "<", "<=", ">", ">=", "and", "or":
			s.advance()
		default:
			return
		}
	}
}

func (s *syntax) operand() {
	switch s.now.kind {
	case tokenNumber, tokenString, "nil", "true", "false":
		s.advance()
	case "...":
		if !s.variadic {
			s.complain("cannot use '...' outside a vararg function")
		}
		s.advance()
	case "{":
		s.table()
	case "function":
		line := s.line
		s.advance()
		s.body(line)
	default:
		s.primary()
	}
}

// primary reads a name or a bracket and what is behind it: fields and calls.
func (s *syntax) primary() (called, assignable bool) {
	switch line := s.line; s.now.kind {
	case tokenName:
		assignable = true
		s.advance()
	case "(":
		s.advance()
		s.expression()
		s.close(")", "(", line)
	default:
		s.complain("unexpected symbol")
	}
	for {
		switch s.now.kind {
		case ".":
			s.advance()
			s.expect(tokenName)
			called, assignable = false, true
		case "[":
			s.index()
			called, assignable = false, true
		case ":":
			s.advance()
			s.expect(tokenName)
			s.arguments()
			called, assignable = true, false
		case "(", "{", tokenString:
			s.arguments()
			called, assignable = true, false
		default:
			return called, assignable
		}
	}
}

func (s *syntax) arguments() {
	switch line := s.line; s.now.kind {
	case "(":
		if line != s.lastLine {
			s.complain("ambiguous syntax (function call x new statement)")
		}
		s.advance()
		if s.now.kind != ")" {
			s.expressions()
		}
		s.close(")", "(", line)
	case "{":
		s.table()
	case tokenString:
		s.advance()
	default:
		s.complain("function arguments expected")
	}
}

func (s *syntax) index() {
	s.advance()
	s.expression()
	s.expect("]")
}

func (s *syntax) table() {
	line := s.line
	s.expect("{")
	for s.now.kind != "}" {
		switch {
		case s.now.kind == "[":
			s.index()
			s.expect("=")
		case s.now.kind == tokenName:
			t := s.next()
			s.ahead = &t
			if t.kind == "=" {
				s.advance()
				s.advance()
			}
		}
		s.expression()
		if !s.accept(",") && !s.accept(";") {
			break
		}
	}
	s.close("}", "{", line)
}
