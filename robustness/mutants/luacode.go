package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/parse"
)

// luaFile is one file of the scripts, as a row of tokens.
type luaFile struct {
	name   string // in the tree
	text   string
	tokens []luaToken
	found  []mutant
}

type luaToken struct {
	from, to, depth int // depth counts the brackets that are open
	text            string
}

var luaTokens = regexp.MustCompile(`--[^\n]*|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\d+(?:\.\d+)?|[A-Za-z_]\w*|\.\.\.|\.\.|[=~<>]=|\S`)

// otherWord stands in for a word of Lua or of Redis.
var otherWord = map[string]string{
	"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "~=", "~=": "==", "true": "false", "false": "true", "not": "", "pcall": "call",
	"else": "elseif false then", "'RPUSH'": "'LPUSH'", "'HSET'": "'HSETNX'", "'PTTL'": "'TTL'", "'PEXPIRE'": "'EXPIRE'", "'INCR'": "'GET'",
}

// luaMutants finds all mutants of a script that are still Lua.
func luaMutants(name, text string) (good []mutant) {
	f := &luaFile{name: name, text: text}
	depth := 0
	for _, at := range luaTokens.FindAllStringIndex(text, -1) {
		t := luaToken{at[0], at[1], depth, text[at[0]:at[1]]}
		switch {
		case strings.HasPrefix(t.text, "--"):
			continue
		case strings.Contains("([{", t.text):
			depth++
		case strings.Contains(")]}", t.text):
			depth--
			t.depth--
		}
		f.tokens = append(f.tokens, t)
	}
	f.lines()
	for i, t := range f.tokens {
		f.word(i, t)
	}
	seen := make(map[string]bool)
	for _, m := range f.found {
		changed := text[:m.from] + m.text + text[m.to:]
		if _, err := parse.Parse(strings.NewReader(changed), name); err == nil && !seen[changed] {
			seen[changed] = true
			good = append(good, m)
		}
	}
	return good
}

func (f *luaFile) replace(what string, from, to int, new string) {
	f.found = append(f.found, of(f.name, f.text, from, to, new, what))
}

// source is what stands from one token up to another.
func (f *luaFile) source(first, last int) string {
	return f.text[f.tokens[first].from:f.tokens[last].to]
}

var keptLine = regexp.MustCompile(`^\s*(--|local\b|end\b|else|until\b|$)`)

// lines removes one line at a time.
func (f *luaFile) lines() {
	at := 0
	for line := range strings.Lines(f.text) {
		if !keptLine.MatchString(line) {
			f.replace("the line is gone", at, at+len(strings.TrimSuffix(line, "\n")), "")
		}
		at += len(line)
	}
}

var quotedNumber = regexp.MustCompile(`^'(\d+)'$`)

// word changes one token, and what it begins.
func (f *luaFile) word(i int, t luaToken) {
	before := ""
	if i > 0 {
		before = f.tokens[i-1].text
	}
	if other, has := otherWord[t.text]; has && (t.text != "pcall" || before == ".") {
		f.replace(strings.TrimSpace(other+" instead"), t.from, t.to, other)
	}
	hint := i > 1 && slices.Contains([]string{"'COUNT'", "'MAXLEN'"}, f.tokens[i-2].text) // of how much to do at a time
	if n, err := strconv.Atoi(t.text); err == nil && !hint {
		f.replace("off by one", t.from, t.to, strconv.Itoa(n+1))
	}
	if n := quotedNumber.FindStringSubmatch(t.text); n != nil {
		value, _ := strconv.Atoi(n[1])
		f.replace("off by one", t.from, t.to, "'"+strconv.Itoa(value+1)+"'")
	}
	switch t.text {
	case "if", "elseif", "while":
		f.condition(i)
	case "and", "or", "+", "-", "..":
		f.operands(i)
	case "(":
		f.call(i)
	case "return":
		if end := f.lineEnd(i); end > i+1 {
			f.replace("it returns 0", f.tokens[i+1].from, f.tokens[end].to, "0")
		}
	}
}

func (f *luaFile) condition(i int) {
	behind := i
	for f.tokens[behind].text != "then" && f.tokens[behind].text != "do" {
		behind++
	}
	condition := "(" + f.source(i+1, behind-1) + ")"
	from, to := f.tokens[i+1].from, f.tokens[behind-1].to
	f.replace("the condition never holds", from, to, condition+" and false")
	if f.tokens[i].text != "while" {
		f.replace("the condition always holds", from, to, condition+" or true")
	}
}

// lineEnd is the last token of a token's line.
func (f *luaFile) lineEnd(i int) int {
	for i+1 < len(f.tokens) && !strings.Contains(f.text[f.tokens[i].to:f.tokens[i+1].from], "\n") {
		i++
	}
	return i
}

// Operands end at these, and sums also at those.
var (
	ends    = []string{"and", "or", "if", "elseif", "while", "then", "do", "return", "=", ",", "not", "end"}
	sumEnds = []string{"+", "-", "..", "<", "<=", ">", ">=", "==", "~="}
)

// operands removes an operator together with its left or its right operand.
func (f *luaFile) operands(i int) {
	t := f.tokens[i]
	sum := t.text != "and" && t.text != "or"
	stop := func(j int) bool {
		if j < 0 || j >= len(f.tokens) || f.tokens[j].depth < t.depth {
			return true
		}
		if f.tokens[j].depth > t.depth {
			return false
		}
		return slices.Contains(ends, f.tokens[j].text) && (sum || f.tokens[j].text != "not") || sum && slices.Contains(sumEnds, f.tokens[j].text)
	}
	first, last := i-1, i+1
	for !stop(first - 1) {
		first--
	}
	for !stop(last+1) && !(f.tokens[last+1].depth == t.depth && last == f.lineEnd(last)) {
		last++
	}
	if stop(i - 1) {
		return // a sign, not a sum
	}
	f.replace("the right operand is gone", f.tokens[i-1].to, f.tokens[last].to, "")
	f.replace("the left operand is gone", f.tokens[first].from, f.tokens[i+1].from, "")
	if other := map[string]string{"+": "-", "-": "+"}[t.text]; other != "" {
		f.replace(other+" instead", t.from, t.to, other)
	}
}

// call changes the arguments of the call that has its bracket at a token.
func (f *luaFile) call(i int) {
	open := f.tokens[i]
	var args [][2]int // first and last token of each
	begin, last := i+1, i+1
	for ; f.tokens[last].depth > open.depth; last++ {
		if t := f.tokens[last]; t.text == "," && t.depth == open.depth+1 {
			args = append(args, [2]int{begin, last - 1})
			begin = last + 1
		}
	}
	if begin == last || i < 3 || f.tokens[i-2].text == "function" || slices.Contains(ends, f.tokens[i-1].text) {
		return
	}
	args = append(args, [2]int{begin, last - 1})
	name := f.source(i-3, i-1)
	redis, extreme := strings.HasPrefix(name, "redis."), strings.HasPrefix(name, "math.m")
	for n, a := range args {
		if extreme {
			f.replace("the call is gone, an argument is left", f.tokens[i-3].from, f.tokens[last].to, f.source(a[0], a[1]))
		}
		if n == 0 || redis && n == 1 || extreme {
			continue // the verb stays the first
		}
		b := args[n-1]
		swapped := f.source(a[0], a[1]) + ", " + f.source(b[0], b[1])
		f.replace("two arguments are swapped", f.tokens[b[0]].from, f.tokens[a[1]].to, swapped)
	}
	if n := len(args) - 1; n > 0 && !extreme && !redis {
		f.replace("the last argument is gone", f.tokens[args[n-1][1]].to, f.tokens[args[n][1]].to, "")
	}
}
