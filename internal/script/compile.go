package script

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// A source is checked for its nesting before the parser sees it, because parser and compiler recurse. Its tree is then
// changed where the interpreter would build a value of any size in one instruction: a concatenation and an assignment to
// an index that is computed call functions of ours instead. So do redis.call and redis.pcall. They stand in the program as constants, so that no script can
// reach or replace them.

const (
	nestingMax = 200    // brackets and blocks inside each other, as in the reference implementation
	chainMax   = 10_000 // operators in a row: each is a step of Go's stack while the tree is compiled
)

// The names of functions of ours in the tree; compile puts the functions in their place.
const (
	markConcat = "\x00concat"
	markKey    = "\x00key"
	markCall   = "\x00call"
	markPcall  = "\x00pcall"
	markLine   = "\x00line"
)

// syntaxError is why a source is no program.
type syntaxError struct{ text string }

func (e *syntaxError) Error() string { return e.text }

// compile makes a program of a source; name is what errors call it. ofScript says that it is a script of EVAL.
func compile(source, name string, ofScript bool) (*lua.FunctionProto, error) {
	return compileFor(source, name, ofScript, false)
}

// compileFor is compile, with a stop at every line if the program is to be debugged.
func compileFor(source, name string, ofScript, debug bool) (p *lua.FunctionProto, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, &syntaxError{fmt.Sprintf("%s:1: %v", name, r)}
		}
	}()
	if strings.HasPrefix(source, "\x1b") {
		return nil, &syntaxError{name + ":1: unexpected symbol near 'char(27)'"}
	}
	if line, ok := tooDeep(source); ok {
		return nil, &syntaxError{fmt.Sprintf("%s:%d: chunk has too many syntax levels", name, line)}
	}
	if err := checkSyntax(source, name); err != nil {
		return nil, err
	}
	chunk, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, translate(err, name)
	}
	w := writer{plain: ofScript && namesRedisPlainly(source)}
	w.rewriteStmts(chunk)
	if debug {
		chunk = stopsIn(chunk, 0)
	}
	p, err = lua.Compile(chunk, name)
	if err != nil {
		return nil, translate(err, name)
	}
	p.IsVarArg &^= lua.VarArgNeedsArg // the program itself has no table of its arguments
	place(p)
	return p, nil
}

// translate words what the interpreter has against a program that the grammar allows.
func translate(err error, name string) error {
	switch e := err.(type) {
	case *parse.Error:
		near, line := e.Token, e.Pos.Line
		if near == "" || line < 0 || line == parse.EOF {
			near = tokenEOF
		}
		return &syntaxError{fmt.Sprintf("%s:%d: %s near '%s'", name, max(line, 1), strings.TrimSpace(e.Message), near)}
	case *lua.CompileError:
		return &syntaxError{fmt.Sprintf("%s:%d: %s", name, e.Line, e.Message)}
	}
	return &syntaxError{fmt.Sprintf("%s: %v", name, err)}
}

// place puts the functions where the tree named them.
func place(p *lua.FunctionProto) {
	for i, k := range p.Constants {
		switch k {
		case lua.LString(markConcat):
			p.Constants[i] = concatFn
		case lua.LString(markKey):
			p.Constants[i] = keyFn
		case lua.LString(markCall):
			p.Constants[i] = callFn
		case lua.LString(markPcall):
			p.Constants[i] = pcallFn
		case lua.LString(markLine):
			p.Constants[i] = lineFunction()
		}
	}
	for _, inner := range p.FunctionPrototypes {
		place(inner)
	}
}

// These functions are in every program. They find their machine by the state that runs, and never change.
var (
	concatFn = &lua.LFunction{IsG: true, GFunction: concat, Env: &lua.LTable{Metatable: lua.LNil}}
	keyFn    = &lua.LFunction{IsG: true, GFunction: checkKey, Env: &lua.LTable{Metatable: lua.LNil}}
	callFn   = &lua.LFunction{IsG: true, GFunction: plainCall, Env: &lua.LTable{Metatable: lua.LNil}}
	pcallFn  = &lua.LFunction{IsG: true, GFunction: plainPcall, Env: &lua.LTable{Metatable: lua.LNil}}
)

// writer changes a tree.
type writer struct {
	plain bool // the name redis means the global
}

// namesRedisPlainly says whether a source uses the name redis in front of a dot only, and environments not at all. Then
// redis.call in it is the function that it is, which need not be looked up at each call.
func namesRedisPlainly(source string) bool {
	const name = "redis"
	for rest := source; ; {
		_, after, found := strings.Cut(rest, name)
		if !found {
			return !strings.Contains(source, "setfenv")
		}
		if !strings.HasPrefix(after, ".") {
			return false
		}
		rest = after
	}
}

// markOf is the name of the function of ours that an expression is, "" for none.
func (w writer) markOf(x *ast.AttrGetExpr) string {
	of, ok1 := x.Object.(*ast.IdentExpr)
	key, ok2 := x.Key.(*ast.StringExpr)
	switch {
	case !w.plain || !ok1 || !ok2 || of.Value != "redis":
	case key.Value == "call":
		return markCall
	case key.Value == "pcall":
		return markPcall
	}
	return ""
}

func (w writer) rewriteStmts(list []ast.Stmt) {
	for i, s := range list {
		list[i] = w.rewriteStmt(s)
	}
}

func (w writer) rewriteStmt(s ast.Stmt) ast.Stmt {
	switch x := s.(type) {
	case *ast.AssignStmt:
		w.rewriteExprs(x.Rhs)
		for i, e := range x.Lhs {
			if t, ok := e.(*ast.AttrGetExpr); ok {
				t.Object = w.rewrite(t.Object)
				t.Key = guardKey(t.Object, w.rewrite(t.Key))
			} else {
				x.Lhs[i] = w.rewrite(e)
			}
		}
	case *ast.LocalAssignStmt:
		w.rewriteExprs(x.Exprs)
	case *ast.FuncCallStmt:
		x.Expr = w.rewrite(x.Expr)
	case *ast.DoBlockStmt:
		w.rewriteStmts(x.Stmts)
	case *ast.WhileStmt:
		x.Condition = w.rewrite(x.Condition)
		w.rewriteStmts(x.Stmts)
	case *ast.RepeatStmt:
		x.Condition = w.rewrite(x.Condition)
		w.rewriteStmts(x.Stmts)
	case *ast.IfStmt:
		x.Condition = w.rewrite(x.Condition)
		w.rewriteStmts(x.Then)
		w.rewriteStmts(x.Else)
	case *ast.NumberForStmt:
		x.Init, x.Limit = w.rewrite(x.Init), w.rewrite(x.Limit)
		if x.Step != nil {
			x.Step = w.rewrite(x.Step)
		}
		w.rewriteStmts(x.Stmts)
	case *ast.GenericForStmt:
		w.rewriteExprs(x.Exprs)
		w.rewriteStmts(x.Stmts)
	case *ast.FuncDefStmt:
		w.rewriteStmts(x.Func.Stmts)
	case *ast.ReturnStmt:
		w.rewriteExprs(x.Exprs)
	}
	return s
}

func (w writer) rewriteExprs(list []ast.Expr) {
	for i, e := range list {
		list[i] = w.rewrite(e)
	}
}

func (w writer) rewrite(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.StringConcatOpExpr:
		return w.rewriteConcat(x)
	case *ast.AttrGetExpr:
		if mark := w.markOf(x); mark != "" {
			return constant(mark, x.Line())
		}
		x.Object, x.Key = w.rewrite(x.Object), w.rewrite(x.Key)
	case *ast.TableExpr:
		for _, f := range x.Fields {
			if f.Key != nil {
				f.Key = guardKey(nil, w.rewrite(f.Key))
			}
			f.Value = w.rewrite(f.Value)
		}
	case *ast.FuncCallExpr:
		if x.Func != nil {
			x.Func = w.rewrite(x.Func)
		}
		if x.Receiver != nil {
			x.Receiver = w.rewrite(x.Receiver)
		}
		w.rewriteExprs(x.Args)
	case *ast.LogicalOpExpr:
		x.Lhs, x.Rhs = w.rewrite(x.Lhs), w.rewrite(x.Rhs)
	case *ast.RelationalOpExpr:
		x.Lhs, x.Rhs = w.rewrite(x.Lhs), w.rewrite(x.Rhs)
	case *ast.ArithmeticOpExpr:
		x.Lhs, x.Rhs = w.rewrite(x.Lhs), w.rewrite(x.Rhs)
	case *ast.UnaryMinusOpExpr:
		x.Expr = w.rewrite(x.Expr)
	case *ast.UnaryNotOpExpr:
		x.Expr = w.rewrite(x.Expr)
	case *ast.UnaryLenOpExpr:
		x.Expr = w.rewrite(x.Expr)
	case *ast.FunctionExpr:
		w.rewriteStmts(x.Stmts)
	}
	return e
}

// rewriteConcat makes one call of a row of concatenations.
func (w writer) rewriteConcat(x *ast.StringConcatOpExpr) ast.Expr {
	const argsMax = 100 // registers are few
	var args []ast.Expr
	var rest ast.Expr = x
	for len(args) < argsMax {
		c, ok := rest.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		args = append(args, single(w.rewrite(c.Lhs)))
		rest = c.Rhs
	}
	args = append(args, single(w.rewrite(rest)))
	return callOf(markConcat, args, x.Line())
}

// single makes the last of several arguments one value.
func single(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.FuncCallExpr:
		x.AdjustRet = true
	case *ast.Comma3Expr:
		x.AdjustRet = true
	}
	return e
}

func callOf(mark string, args []ast.Expr, line int) ast.Expr {
	c := &ast.FuncCallExpr{Func: constant(mark, line), Args: args, AdjustRet: true}
	c.SetLine(line)
	c.SetLastLine(line)
	return c
}

func constant(mark string, line int) ast.Expr {
	s := &ast.StringExpr{Value: mark}
	s.SetLine(line)
	return s
}

// guardKey has a computed index checked, unless it cannot be a large number.
func guardKey(obj, key ast.Expr) ast.Expr {
	switch k := key.(type) {
	case *ast.StringExpr, *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr:
		return key
	case *ast.NumberExpr:
		if len(k.Value) < 5 {
			return key
		}
	}
	args := []ast.Expr{single(key)}
	if o, ok := obj.(*ast.IdentExpr); ok {
		args = append(args, o)
	}
	return callOf(markKey, args, key.Line())
}

// concat joins its arguments as the operator .. does.
func concat(L *lua.LState) int {
	vm := machineOf(L)
	n := L.GetTop()
	size := 0
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			size += len(v)
		case lua.LNumber:
			size += 24
		default:
			return concatPairs(L, vm, n)
		}
	}
	vm.chargeString(L, size)
	var out strings.Builder
	out.Grow(size)
	for i := 1; i <= n; i++ {
		s, _ := toText(L.Get(i))
		out.WriteString(s)
	}
	L.Push(lua.LString(out.String()))
	return 1
}

// concatPairs joins from the right and asks metamethods where need be.
func concatPairs(L *lua.LState, vm *VM, n int) int {
	right := L.Get(n)
	for i := n - 1; i >= 1; i-- {
		left := L.Get(i)
		x, ok1 := toText(left)
		y, ok2 := toText(right)
		if ok1 && ok2 {
			vm.chargeString(L, len(x)+len(y))
			right = lua.LString(x + y)
			continue
		}
		h := L.GetMetaField(left, "__concat")
		if h == lua.LNil {
			h = L.GetMetaField(right, "__concat")
		}
		if h == lua.LNil {
			culprit, at := right, i+1
			if !ok1 {
				culprit, at = left, i
			}
			c := call{L: L, vm: vm}
			c.Fail("attempt to concatenate %s", argument(L, at, culprit))
		}
		c := call{L: L, vm: vm}
		right = c.Call(h, left, right)
	}
	L.Push(right)
	return 1
}

// argument says what an argument of a function of ours is that scripts do not know of.
func argument(L *lua.LState, i int, v lua.LValue) string {
	kind := v.Type().String()
	f, ok := frameAt(L, 1)
	if !ok {
		return "a " + kind + " value"
	}
	return f.value(f.at(f.pc).a+i, kind)
}

// arrayGapMax is how far an index may lie behind the end of an array until the space between is charged.
const arrayGapMax = 1 << 12

// checkKey is given an index, and the table when that is known, and returns the index.
func checkKey(L *lua.LState) int {
	k, ok := L.Get(1).(lua.LNumber)
	if ok && k > arrayGapMax && float64(k) == float64(int64(k)) && int(k) < lua.MaxArrayIndex {
		have := 0
		if t, ok := L.Get(2).(*lua.LTable); ok {
			have = t.MaxN()
		}
		if gap := int(k) - have; gap > 1 {
			if t, ok := L.Get(2).(*lua.LTable); !ok || gap > arrayGapMax && t.MaxN() < int(k) {
				machineOf(L).charge(gap * 16)
			}
		}
	}
	L.SetTop(1)
	return 1
}
