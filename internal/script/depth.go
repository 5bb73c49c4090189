package script

// tooDeep looks at a source for nesting and rows of operators that are too much for a recursive compiler, without caring for
// grammar. It stops where the source is none.
func tooDeep(src string) (line int, deep bool) {
	x := lexer{src: src, line: 1}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(*syntaxError); !ok {
				panic(r)
			}
		}
	}()
	row := make([]int, 1, nestingMax+2) // operators in each of the brackets and blocks that are open
	for {
		t := x.next()
		switch t.kind {
		case tokenEOF:
			return 0, false
		case "(", "{", "[", "function", "do", "then", "repeat":
			row[len(row)-1]++
			row = append(row, 0)
		case ")", "}", "]", "end", "until":
			if len(row) > 1 {
				row = row[:len(row)-1]
			}
		case ",", ";", "=", "else", "local", "return", "if", "while", "for", "in":
			row[len(row)-1] = 0
		case tokenName, tokenNumber, "break", "nil", "true", "false":
		default: // an operator, or a string, which may be the argument of a call; "elseif" nests in the block before it
			row[len(row)-1]++
		}
		if len(row) > nestingMax+1 || row[len(row)-1] > chainMax {
			return x.line, true
		}
	}
}
