package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// All mutants that are tried share one build. Each function that has some chooses among its bodies
// by a variable, which is what the environment says. Scripts are data to Go: what reads them chooses.
const (
	chooserFile = "active_mutant.go"
	chooser     = `package %s

import (
	"os"
	"strconv"
)

var activeMutant, _ = strconv.Atoi(os.Getenv("MUTANT"))

func mutated(file, text string) string {
	switch {
%s	}
	return text
}
`
	scriptFolder  = "internal/script"
	scriptRead    = "return string(text)"
	scriptMutated = "return mutated(file, string(text))"
)

// weave puts the mutants of a Go file into its text. It reports an error if one is not inside of a
// function. The name of the file is that of the mutant, where its body stands.
func weave(name, text string, mutants []mutant) (woven string, err error) {
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	written, placed := 0, 0
	for _, declared := range syntax.Decls {
		d, is := declared.(*ast.FuncDecl)
		if !is || d.Body == nil {
			continue
		}
		from, to := files.Position(d.Body.Pos()).Offset, files.Position(d.Body.End()).Offset
		inside := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return m.from <= from || m.to >= to })
		if len(inside) == 0 {
			continue
		}
		placed += len(inside)
		fmt.Fprintf(&out, "%s{ switch activeMutant {\n", text[written:from])
		for _, m := range inside {
			fmt.Fprintf(&out, "case %d:\n//line %d:1\n%s\n", m.id, m.id, relabel(d.Body, text[from:m.from]+m.text+text[m.to:to], m.id))
			if d.Type.Results != nil {
				out.WriteString("panic(`a mutant without a return`)\n")
			}
		}
		fmt.Fprintf(&out, "default:\n//line %s:%d\n%s\n}}", name, files.Position(d.Body.Pos()).Line, text[from:to])
		written = to
	}
	out.WriteString(text[written:])
	if placed != len(mutants) {
		err = fmt.Errorf("%s: a mutant is not inside of a function", name)
	}
	return out.String(), err
}

// relabel gives the labels of a body names of their own.
func relabel(body *ast.BlockStmt, text string, id int) string {
	ast.Inspect(body, func(n ast.Node) bool {
		if l, is := n.(*ast.LabeledStmt); is {
			text = regexp.MustCompile(`\b`+l.Label.Name+`\b`).ReplaceAllString(text, fmt.Sprint(l.Label.Name, id))
		}
		return true
	})
	return text
}
