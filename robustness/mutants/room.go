package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// room is a folder with its code.
type room struct {
	folder, name string // name is that of its package
	tests        []string
	imports      types.Importer
	texts        map[string]string // of its files, by their names in the tree
}

func isGo(name string) bool { return filepath.Ext(name) == ".go" }

// in are the mutants of one file.
func in(file string, all []mutant) []mutant {
	return slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return m.file != file })
}

// mutants finds the mutants of a room that compile.
func (r *room) mutants() (all []mutant, err error) {
	files, syntax, info, wrong := r.check(r.texts)
	if len(wrong) > 0 {
		return nil, wrong[0]
	}
	for _, s := range syntax {
		at := files.File(s.Pos())
		f := &goFile{name: at.Name(), text: r.texts[at.Name()], syntax: s, info: info, begin: token.Pos(at.Base())}
		all = append(all, f.mutants()...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.texts)) {
		if !isGo(name) {
			all = append(all, luaMutants(name, r.texts[name])...)
		}
	}
	all = distinct(all)
	for {
		for i := range all {
			all[i].id = i + 1
			all[i].tests = r.tests
		}
		woven, err := r.woven(all)
		if err != nil {
			return nil, err
		}
		_, _, _, wrong := r.check(woven)
		if len(wrong) == 0 {
			return all, nil
		}
		ids := make(map[int]bool)
		for _, e := range wrong {
			id, err := strconv.Atoi(filepath.Base(e.Fset.Position(e.Pos).Filename))
			if err != nil {
				return nil, e
			}
			ids[id] = true
		}
		all = slices.DeleteFunc(all, func(m mutant) bool { return ids[m.id] })
	}
}

// distinct leaves out what two operators found, and sorts by places.
func distinct(all []mutant) (once []mutant) {
	seen := make(map[string]bool)
	for _, m := range all {
		if key := fmt.Sprint(m.file, m.line, m.before, m.after); m.before != m.after && !seen[key] {
			seen[key] = true
			once = append(once, m)
		}
	}
	slices.SortStableFunc(once, func(a, b mutant) int { return cmp.Or(strings.Compare(a.file, b.file), a.from-b.from) })
	return once
}

// woven are the texts of a room's Go files with mutants in them.
func (r *room) woven(mutants []mutant) (texts map[string]string, err error) {
	texts = make(map[string]string)
	scripts := ""
	for name, text := range r.texts {
		inside := in(name, mutants)
		if isGo(name) {
			if texts[name], err = weave(name, text, inside); err != nil {
				return nil, err
			}
			continue
		}
		for _, m := range inside {
			scripts += fmt.Sprintf("\tcase file == %q && activeMutant == %d:\n\t\treturn %q\n", filepath.Base(name), m.id, text[:m.from]+m.text+text[m.to:])
		}
	}
	if scripts != "" {
		reader := filepath.Join(r.folder, "script.go")
		if !strings.Contains(texts[reader], scriptRead) {
			return nil, fmt.Errorf("%s does not read scripts by %q", reader, scriptRead)
		}
		texts[reader] = strings.ReplaceAll(texts[reader], scriptRead, scriptMutated)
	}
	texts[filepath.Join(r.folder, chooserFile)] = fmt.Sprintf(chooser, r.name, scripts)
	return texts, nil
}

// check runs the type checker over Go files, and returns all its errors.
func (r *room) check(texts map[string]string) (files *token.FileSet, syntax []*ast.File, info *types.Info, wrong []types.Error) {
	files = token.NewFileSet()
	info = &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object)}
	for name, text := range texts {
		if !isGo(name) {
			continue
		}
		s, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, nil, nil, []types.Error{{Fset: files, Msg: err.Error()}}
		}
		syntax = append(syntax, s)
	}
	config := types.Config{Importer: r.imports, Error: func(err error) { wrong = append(wrong, err.(types.Error)) }}
	_, _ = config.Check(r.folder, files, syntax, info)
	return files, syntax, info, wrong
}
