package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
)

// goFile is one Go file of a room, in which operators find mutants.
type goFile struct {
	name   string // in the tree
	text   string
	syntax *ast.File
	info   *types.Info
	begin  token.Pos
	whole  map[ast.Node]bool // conditions and cases that are broken as a whole, and not in another way as well
	found  []mutant
}

// spared are functions whose calls are left alone, with their arguments: logging, messages, hints of
// capacity, errors of the programmer, and locks of memory, which only the race detector watches.
var spared = regexp.MustCompile(`^(\(?\*?log/slog\..*|fmt\.\w+|errors\.(New|Is)|\(\*sync\.\w*Mutex\)\.\w+|slices\.Grow|.*\)\.Grow|make|panic)$`)

// sparedMethods only describe.
var sparedMethods = regexp.MustCompile(`^(String|GoString|Error|Format|LogValue)$`)

// mutants finds all mutants inside of functions. They need not compile.
func (f *goFile) mutants() []mutant {
	f.whole = make(map[ast.Node]bool)
	for _, declared := range f.syntax.Decls {
		if d, is := declared.(*ast.FuncDecl); is && d.Body != nil && !sparedMethods.MatchString(d.Name.Name) {
			ast.Inspect(d.Body, f.visit)
		}
	}
	return f.found
}

func (f *goFile) at(p token.Pos) int       { return int(p - f.begin) }
func (f *goFile) source(n ast.Node) string { return f.text[f.at(n.Pos()):f.at(n.End())] }

// operand is the source of an expression, to be put into any other one.
func (f *goFile) operand(n ast.Expr) string {
	switch n.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr:
		return "(" + f.source(n) + ")"
	}
	return f.source(n)
}

func (f *goFile) replace(what string, from, to token.Pos, new string) {
	f.found = append(f.found, of(f.name, f.text, f.at(from), f.at(to), new, what))
}

func (f *goFile) swap(what string, n ast.Node, new string) { f.replace(what, n.Pos(), n.End(), new) }

// visit finds the mutants of one node, and says whether to look into it.
func (f *goFile) visit(n ast.Node) bool {
	if f.isSpared(n) {
		return false
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		f.call(n)
	case ast.Stmt:
		f.statement(n)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			f.swap("the sign is gone", n, f.source(n.X))
		}
	case *ast.BasicLit:
		if value, err := strconv.ParseInt(n.Value, 0, 64); err == nil && n.Kind == token.INT {
			f.swap("off by one", n, strconv.FormatInt(value+1, 10))
		}
	case *ast.Ident:
		if was := f.info.Uses[n]; was != nil && was == types.Universe.Lookup(n.Name) && (n.Name == "true" || n.Name == "false") {
			f.swap("the opposite", n, strconv.FormatBool(n.Name == "false"))
		}
	case *ast.CompositeLit:
		if _, is := f.info.TypeOf(n).Underlying().(*types.Struct); is && len(n.Elts) > 1 {
			for i := range n.Elts {
				f.without("a field is not set", n.Elts, i)
			}
		}
	}
	return true
}

func (f *goFile) isSpared(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ExprStmt:
		return f.isSpared(n.X)
	case *ast.DeferStmt:
		return f.isSpared(n.Call)
	case *ast.CallExpr:
		called := ast.Unparen(n.Fun)
		if selected, is := called.(*ast.SelectorExpr); is {
			called = selected.Sel
		}
		name, _ := called.(*ast.Ident)
		switch function := f.info.Uses[name].(type) {
		case *types.Func:
			return spared.MatchString(function.FullName())
		case *types.Builtin:
			return spared.MatchString(function.Name())
		}
	}
	return false
}

// statement finds the mutants of a statement as a whole.
func (f *goFile) statement(n ast.Stmt) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.condition(n.Cond)
		f.swap("the condition always holds", n.Cond, "("+f.source(n.Cond)+") || true")
		if n.Else != nil {
			f.replace("the else branch is gone", n.Body.End(), n.Else.End(), "")
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			f.condition(n.Cond)
		}
	case *ast.CaseClause:
		f.clause(n.List, n.Colon, n.Body)
	case *ast.CommClause:
		f.whole[n.Comm] = true
		f.clause(nil, n.Colon, n.Body)
	case *ast.DeferStmt:
		f.whole[n.Call] = true
		f.replace("at once, not at the end", n.Defer, n.Call.Pos(), "")
		f.drop(n)
	case *ast.GoStmt:
		f.whole[n.Call] = true
		f.drop(n)
	case *ast.ExprStmt, *ast.SendStmt, *ast.IncDecStmt:
		f.drop(n)
	case *ast.AssignStmt:
		f.assignment(n)
	case *ast.BranchStmt:
		f.drop(n)
		if other := map[token.Token]string{token.BREAK: "continue", token.CONTINUE: "break"}[n.Tok]; other != "" && n.Label == nil {
			f.swap(other+" instead", n, other)
		}
	case *ast.ReturnStmt:
		f.returned(n)
	}
}

func (f *goFile) drop(n ast.Stmt) {
	if !f.whole[n] {
		f.swap("the statement is gone", n, "")
	}
}

// condition makes a condition false. It is still computed, so that its variables are used.
func (f *goFile) condition(c ast.Expr) {
	f.whole[c] = true
	f.swap("the condition never holds", c, "("+f.source(c)+") && false")
}

// clause is a case of a switch or of a select.
func (f *goFile) clause(list []ast.Expr, colon token.Pos, body []ast.Stmt) {
	conditions := len(list) > 0
	for _, e := range list {
		if what := f.info.Types[e]; what.IsType() || what.Value != nil || !isBool(what.Type) {
			conditions = false
			continue
		}
		f.condition(e)
	}
	if !conditions && len(body) > 0 {
		f.replace("the case does nothing", colon+1, body[len(body)-1].End(), "")
	}
}

func isBool(t types.Type) bool {
	basic, is := types.Default(t).Underlying().(*types.Basic)
	return is && basic.Kind() == types.Bool
}

var otherOperator = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
	token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*",
	token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=",
}

func (f *goFile) binary(n *ast.BinaryExpr) {
	equality := n.Op == token.EQL || n.Op == token.NEQ
	if other := otherOperator[n.Op]; other != "" && !(equality && f.whole[n]) {
		f.replace(other+" instead", n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other+" ") // - before a sign is no --
	}
	if n.Op.Precedence() == token.EQL.Precedence() || n.Op == token.SHL || n.Op == token.SHR {
		return
	}
	f.swap("the right operand is gone", n, f.source(n.X))
	if n.Op != token.SUB && n.Op != token.QUO {
		f.swap("the left operand is gone", n, f.source(n.Y))
	}
}

func (f *goFile) assignment(n *ast.AssignStmt) {
	if other := otherOperator[n.Tok]; other != "" {
		f.replace(other+" instead", n.TokPos, n.TokPos+2, other)
	}
	if n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
		f.drop(n)
	}
	for _, left := range n.Lhs {
		if n.Tok == token.ASSIGN && f.source(left) != "_" {
			f.swap("nothing is assigned", left, "_")
		}
	}
}

func (f *goFile) returned(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		f.drop(n)
	}
	for _, r := range n.Results {
		switch is := f.info.Types[r]; {
		case is.Value != nil || is.IsNil() || is.Type == nil:
		case isBool(is.Type):
			f.swap("always true", r, "true")
			f.swap("always false", r, "false")
		case types.Identical(is.Type, types.Universe.Lookup("error").Type()):
			f.swap("no error", r, "nil")
		}
	}
}

// call changes the arguments of a call, or puts one of its operands in its place.
func (f *goFile) call(n *ast.CallExpr) {
	function := f.info.Types[n.Fun]
	if function.IsType() {
		return
	}
	result := f.info.TypeOf(n)
	if f.whole[n] {
		result = nil // after defer and go only a call may stand
	}
	same := func(a, b types.Type) bool {
		return a != nil && b != nil && types.Identical(types.Default(a), types.Default(b))
	}
	if method, is := n.Fun.(*ast.SelectorExpr); is && same(f.info.TypeOf(method.X), result) {
		f.swap("the call is gone", n, f.source(method.X))
	}
	commutes := function.IsBuiltin() && (f.source(n.Fun) == "min" || f.source(n.Fun) == "max")
	for i, a := range n.Args {
		if same(f.info.TypeOf(a), result) {
			f.swap("the call is gone, an argument is left", n, f.operand(a))
		}
		if i == 0 {
			continue
		}
		before := n.Args[i-1]
		if same(f.info.TypeOf(before), f.info.TypeOf(a)) && !commutes && f.source(before) != f.source(a) {
			between := f.text[f.at(before.End()):f.at(a.Pos())]
			f.replace("two arguments are swapped", before.Pos(), a.End(), f.source(a)+between+f.source(before))
		}
	}
	signature, is := function.Type.(*types.Signature)
	if !is || !signature.Variadic() || n.Ellipsis.IsValid() || function.IsBuiltin() && !commutes {
		return
	}
	for i := max(signature.Params().Len()-1, 0); i < len(n.Args); i++ {
		f.without("an argument is gone", n.Args, i)
	}
}

// without removes one element of a list.
func (f *goFile) without(what string, list []ast.Expr, i int) {
	switch {
	case i > 0:
		f.replace(what, list[i-1].End(), list[i].End(), "")
	case len(list) > 1:
		f.replace(what, list[0].Pos(), list[1].Pos(), "")
	default:
		f.swap(what, list[0], "")
	}
}
