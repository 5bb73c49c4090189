// Package tidy checks the shape of the code: which package may import which, how long files and functions may be, and what
// is not to be used, with the cure in the message. It has no code of its own.
package tidy

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/covey-db/covey/"

// layers lists the packages from the bottom up. A package imports from layers below its own; free packages may be
// imported by all.
var layers = []string{
	"num slot glob checksum geo",
	"resp",
	"mem clock vfs uring spec observe enc/listpack enc/intset enc/hll",
	"enc/table enc/tree enc/list enc/stream acl pubsub config credential cluster/wire rdb/packed",
	"keyspace cluster/core",
	"rdb aof",
	"object",
	"engine",
	"script snapshot",
	"command",
	"transport persist journal replication cluster/bus cluster/migrate admin",
	"manager server sim",
}

// free packages are below everything; testkit is for tests alone.
var free = map[string]bool{"invariant": true, "testkit": true, "testkit/reply": true, "testkit/casefile": true, "testkit/inproc": true, "rdb/packed/packedtest": true, "tidy": true}

// sideways are imports within a layer, each with its reason.
var sideways = map[string]string{
	"cluster/bus -> replication": "the bus turns the cluster's decisions on roles into replication's links",
}

func layerOf(pkg string) int {
	for i, row := range layers {
		for _, name := range strings.Fields(row) {
			if name == pkg {
				return i
			}
		}
	}
	return -1
}

// source is one parsed file of the module.
type source struct {
	path  string // from the root of the module
	pkg   string // folder below internal, "" outside
	set   *token.FileSet
	file  *ast.File
	lines int
}

func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func sources(t *testing.T) (list []*source) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && path != root) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		pkg, _ := strings.CutPrefix(filepath.ToSlash(filepath.Dir(rel)), "internal/")
		if !strings.HasPrefix(rel, "internal/") {
			pkg = ""
		}
		list = append(list, &source{rel, pkg, set, file, countLines(t, path)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func countLines(t *testing.T, path string) (n int) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		n++
	}
	return n
}

func TestImportsGoDown(t *testing.T) {
	for _, s := range sources(t) {
		if s.pkg == "" || free[s.pkg] || s.isTest() {
			continue
		}
		own := layerOf(s.pkg)
		if own < 0 {
			t.Errorf("%s: package %s is in no layer; add it to the table in internal/tidy", s.path, s.pkg)
			continue
		}
		for _, imp := range s.file.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			to, ours := strings.CutPrefix(path, module+"internal/")
			if !ours || to == "invariant" || sideways[s.pkg+" -> "+to] != "" {
				continue
			}
			if free[to] {
				t.Errorf("%s imports %s, which is for tests", s.path, to)
			} else if layer := layerOf(to); layer >= own {
				t.Errorf("%s (layer %d) imports %s (layer %d); imports go down: say what you need in an interface of your own", s.path, own, to, layer)
			}
		}
	}
}

// pure packages have no sockets, files, clocks, dice or goroutines.
var pure = strings.Fields("num slot glob checksum resp spec config cluster/wire keyspace cluster/core rdb rdb/packed enc/hll")

func TestPurePackagesStayPure(t *testing.T) {
	banned := map[string]string{
		"net": "sockets belong to transport", "os": "files come in as bytes or readers", "math/rand": "dice come in as an argument",
		"math/rand/v2": "dice come in as an argument", "os/exec": "no processes here", "crypto/rand": "dice come in as an argument",
	}
	for _, s := range sources(t) {
		if s.isTest() || !contains(pure, s.pkg) {
			continue
		}
		for _, imp := range s.file.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			if cure := banned[path]; cure != "" {
				t.Errorf("%s imports %s: %s", s.path, path, cure)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a goroutine in a pure package", s.set.Position(g.Pos()))
			}
			return true
		})
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func TestUnsafeStaysBelow(t *testing.T) {
	allowed := map[string]bool{"mem": true, "enc": true, "uring": true, "transport": true}
	for _, s := range sources(t) {
		for _, imp := range s.file.Imports {
			if imp.Path.Value == `"unsafe"` && !allowed[s.pkg] && !s.isTest() {
				t.Errorf("%s imports unsafe; only mem, enc, uring and the system calls of transport may", s.path)
			}
		}
	}
}

func TestNoInitAndNoSleep(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.FuncDecl:
				if x.Name.Name == "init" && x.Recv == nil {
					t.Errorf("%s: init(); wire by hand in package server", s.set.Position(x.Pos()))
				}
			case *ast.SelectorExpr:
				if id, ok := x.X.(*ast.Ident); ok && s.isTest() && id.Name == "time" && x.Sel.Name == "Sleep" {
					t.Errorf("%s: a test that sleeps; await the event (testkit.Eventually)", s.set.Position(x.Pos()))
				}
			}
			return true
		})
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				if strings.Contains(c.Text, "FIX"+"ME") || strings.Contains(c.Text, "TO"+"DO") {
					t.Errorf("%s: unfinished work in a comment", s.set.Position(c.Pos()))
				}
			}
		}
	}
}

const (
	fileLinesMax     = 1000
	testFileLinesMax = 1500
	functionLinesMax = 70
)

// overlong are the functions that are longer than they should be, with their lines. The list may only shrink.
var overlong = map[string]int{}

func TestLengths(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range sources(t) {
		limit := fileLinesMax
		if s.isTest() {
			limit = testFileLinesMax
		}
		if s.lines > limit {
			t.Errorf("%s has %d lines, more than %d; split it by idea", s.path, s.lines, limit)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1
			name := fmt.Sprintf("%s:%s", s.path, f.Name.Name)
			if n <= functionLinesMax {
				continue
			}
			seen[name] = true
			if was, known := overlong[name]; !known || n > was {
				t.Errorf("%s has %d lines, more than %d; branches stay in the parent, loops and arithmetic go to leaves", name, n, functionLinesMax)
			}
		}
	}
	for name := range overlong {
		if !seen[name] {
			t.Errorf("%s is short enough now: take it off the list", name)
		}
	}
}
