package docs_test

import (
	"go/ast"
	"go/token"
)

// droppedErrors are the places where a program assigns to err although it has not used what
// was there. A snippet that does so is unsafe in an application, and the compiler is silent.
func droppedErrors(files *token.FileSet, program *ast.File) (places []string) {
	ast.Inspect(program, func(node ast.Node) bool {
		block, is := node.(*ast.BlockStmt)
		if !is {
			return true
		}
		var open ast.Stmt // has assigned to err
		for _, statement := range block.List {
			assigned, used := usesOfErr(statement)
			if open != nil && assigned && !used {
				places = append(places, files.Position(open.Pos()).String())
			}
			if assigned || used {
				open = nil
			}
			if assigned {
				open = statement
			}
		}
		return true
	})
	return places
}

// usesOfErr says whether a statement assigns to err itself, and whether it reads it.
func usesOfErr(statement ast.Stmt) (assigned, used bool) {
	targets := make(map[ast.Node]bool)
	if assignment, is := statement.(*ast.AssignStmt); is {
		for _, target := range assignment.Lhs {
			targets[target] = true
		}
	}
	ast.Inspect(statement, func(node ast.Node) bool {
		if name, is := node.(*ast.Ident); is && name.Name == "err" {
			assigned = assigned || targets[name]
			used = used || !targets[name]
		}
		return true
	})
	return assigned, used
}
