package script

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// This file changes the tree of a program that is debugged: a call of lineFunction stands in front of the first statement of every
// line, and at the end of the body of a loop, where the program comes back to the line of the loop.

// stopsIn puts the stops into a block; back is the line of the loop whose body it is, 0 for none.
func stopsIn(list []ast.Stmt, back int) []ast.Stmt {
	out := make([]ast.Stmt, 0, 2*len(list)+1)
	line := 0
	for _, s := range list {
		if n := lineOf(s); n != line && n > 0 {
			line = n
			out = append(out, stopAt(n))
		}
		stopsWithin(s)
		out = append(out, s)
	}
	if back > 0 && !ends(list) {
		out = append(out, stopAt(back))
	}
	return out
}

// lineOf is the line at which a statement is met: of a local function it is that of its end.
func lineOf(s ast.Stmt) int {
	if x, ok := s.(*ast.LocalAssignStmt); ok && len(x.Exprs) == 1 {
		if f, ok := x.Exprs[0].(*ast.FunctionExpr); ok && f.LastLine() > 0 {
			return f.LastLine()
		}
	}
	return s.Line()
}

// ends says whether nothing may stand behind the last statement of a block.
func ends(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch list[len(list)-1].(type) {
	case *ast.ReturnStmt, *ast.BreakStmt:
		return true
	}
	return false
}

func stopAt(line int) ast.Stmt {
	n := &ast.NumberExpr{Value: strconv.Itoa(line)}
	n.SetLine(line)
	s := &ast.FuncCallStmt{Expr: callOf(markLine, []ast.Expr{n}, line)}
	s.SetLine(line)
	s.SetLastLine(line)
	return s
}

// stopsWithin puts stops into the blocks of a statement and into the functions in its expressions.
func stopsWithin(s ast.Stmt) {
	switch x := s.(type) {
	case *ast.AssignStmt:
		stopsInAll(x.Lhs)
		stopsInAll(x.Rhs)
	case *ast.LocalAssignStmt:
		stopsInAll(x.Exprs)
	case *ast.FuncCallStmt:
		stopsInExpr(x.Expr)
	case *ast.DoBlockStmt:
		x.Stmts = stopsIn(x.Stmts, 0)
	case *ast.WhileStmt:
		stopsInExpr(x.Condition)
		x.Stmts = stopsIn(x.Stmts, x.Line())
	case *ast.RepeatStmt:
		stopsInExpr(x.Condition)
		x.Stmts = stopsIn(x.Stmts, 0)
	case *ast.IfStmt:
		stopsInExpr(x.Condition)
		x.Then = stopsIn(x.Then, 0)
		x.Else = stopsIn(x.Else, 0)
	case *ast.NumberForStmt:
		stopsInAll([]ast.Expr{x.Init, x.Limit, x.Step})
		x.Stmts = stopsIn(x.Stmts, x.Line())
	case *ast.GenericForStmt:
		stopsInAll(x.Exprs)
		x.Stmts = stopsIn(x.Stmts, x.Line())
	case *ast.FuncDefStmt:
		x.Func.Stmts = stopsIn(x.Func.Stmts, 0)
	case *ast.ReturnStmt:
		stopsInAll(x.Exprs)
	}
}

func stopsInAll(list []ast.Expr) {
	for _, e := range list {
		stopsInExpr(e)
	}
}

func stopsInExpr(e ast.Expr) {
	switch x := e.(type) {
	case *ast.FunctionExpr:
		x.Stmts = stopsIn(x.Stmts, 0)
	case *ast.AttrGetExpr:
		stopsInAll([]ast.Expr{x.Object, x.Key})
	case *ast.TableExpr:
		for _, f := range x.Fields {
			stopsInAll([]ast.Expr{f.Key, f.Value})
		}
	case *ast.FuncCallExpr:
		stopsInAll([]ast.Expr{x.Func, x.Receiver})
		stopsInAll(x.Args)
	case *ast.LogicalOpExpr:
		stopsInAll([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.RelationalOpExpr:
		stopsInAll([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.ArithmeticOpExpr:
		stopsInAll([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.UnaryMinusOpExpr:
		stopsInExpr(x.Expr)
	case *ast.UnaryNotOpExpr:
		stopsInExpr(x.Expr)
	case *ast.UnaryLenOpExpr:
		stopsInExpr(x.Expr)
	}
}
