package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page reads a page of the documentation; its name is from the root of the repository.
func page(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	must(t, err)
	return string(text)
}

// pages are the names of all pages.
func pages(t testing.TB) []string {
	t.Helper()
	names := []string{"README.md", "README.zh-CN.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", pattern))
		must(t, err)
		for _, f := range found {
			name, err := filepath.Rel("..", f)
			must(t, err)
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names
}

// there says whether something of the repository matches a path, which may have a * and may leave out its first folders.
func there(t testing.TB, path string) bool {
	t.Helper()
	for _, root := range []string{"", "internal/", "internal/*/", "internal/*/*/"} {
		found, err := filepath.Glob(filepath.Join("..", root+path))
		must(t, err)
		if len(found) > 0 {
			return true
		}
	}
	return false
}

// TestDocsNameWhatIsThere follows links, and looks for the files and targets of make that the pages speak of.
func TestDocsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	file := regexp.MustCompile("`([a-z0-9_/*]+\\.(?:go|txt))`")
	folder := regexp.MustCompile("`((?:internal|cmd|tests|docs)/[a-z0-9_/]+)`")
	target := regexp.MustCompile("(?m)(?:^|`)make ([a-z]+)")
	makefile := page(t, "Makefile")
	for _, name := range pages(t) {
		text := page(t, name)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("..", filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: link %s: %v", name, m[1], err)
			}
		}
		for _, m := range append(file.FindAllStringSubmatch(text, -1), folder.FindAllStringSubmatch(text, -1)...) {
			if !there(t, m[1]) {
				t.Errorf("%s: there is no %s", name, m[1])
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: there is no make %s", name, m[1])
			}
		}
	}
}

// TestReadmesAreEqual compares what a translation leaves as it is: commands, links, names in code, and how many headings and
// points there are.
func TestReadmesAreEqual(t *testing.T) {
	t.Parallel()
	comment := regexp.MustCompile(`#.*`)
	code := regexp.MustCompile("`[^`\n]+`")
	link := regexp.MustCompile(`\]\(([^)]+)\)`)
	var shapes [2][]string
	for i, name := range []string{"README.md", "README.zh-CN.md"} {
		text := page(t, name)
		for n, part := range strings.Split(text, "```") {
			switch {
			case n%2 == 0:
				names := code.FindAllString(part, -1)
				slices.Sort(names) // sentences put them in another order
				shapes[i] = append(shapes[i], strings.Join(names, " "))
				for _, m := range link.FindAllStringSubmatch(part, -1) {
					shapes[i] = append(shapes[i], strings.Replace(m[1], ".zh-CN", "", 1))
				}
				for line := range strings.Lines(part) {
					if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "* ") {
						shapes[i] = append(shapes[i], line[:2])
					}
				}
			case strings.HasPrefix(part, "sh\n"):
				for line := range strings.Lines(part) {
					shapes[i] = append(shapes[i], strings.TrimSpace(comment.ReplaceAllString(line, "")))
				}
			}
		}
	}
	if !slices.Equal(shapes[0], shapes[1]) {
		for i := range min(len(shapes[0]), len(shapes[1])) {
			if shapes[0][i] != shapes[1][i] {
				t.Fatalf("README.md has %q where README.zh-CN.md has %q", shapes[0][i], shapes[1][i])
			}
		}
		t.Fatalf("%d and %d parts", len(shapes[0]), len(shapes[1]))
	}
}

// TestArchitectureNamesEveryPackage: the table of layers in the documentation has what the code has.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/architecture.md")
	below := []string{"invariant", "testkit", "tidy"} // free packages, of no layer
	dirs, err := filepath.Glob("../internal/*")
	must(t, err)
	for _, dir := range dirs {
		name := filepath.Base(dir)
		if !slices.Contains(below, name) && !strings.Contains(text, "`"+name) {
			t.Errorf("docs/architecture.md does not name %s", name)
		}
	}
}
