package inspect

import "strings"

// isGlob says that a pattern is more than the name of one key.
func isGlob(pattern string) bool { return pattern == "" || strings.ContainsAny(pattern, `*?[\`) }

// match says whether a text matches a pattern of Redis, as KEYS and SCAN have it: ?, *, [abc], [a-c],
// [^a] and \x. The pattern "" matches everything. It is for names that are only a part of a key.
//
// It goes back to the last star at most, so it takes no more than len(pattern)·len(text) steps.
func match(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	p, t, star, from := 0, 0, -1, 0
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			star, from = p, t
			p++
			continue
		}
		if p < len(pattern) {
			if fits, next := matchOne(pattern, p, text[t]); fits {
				p, t = next, t+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		p, t = star+1, from
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchOne says whether the part of a pattern at p matches one byte, and where the next part begins.
func matchOne(pattern string, p int, c byte) (fits bool, next int) {
	switch pattern[p] {
	case '?':
		return true, p + 1
	case '[':
		return matchClass(pattern, p+1, c)
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	}
	return pattern[p] == c, p + 1
}

// matchClass is matchOne for a class, behind its bracket. A class that does not end goes to the end of
// the pattern.
func matchClass(pattern string, p int, c byte) (fits bool, next int) {
	not := p < len(pattern) && pattern[p] == '^'
	if not {
		p++
	}
	for ; p < len(pattern) && pattern[p] != ']'; p++ {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			fits = fits || pattern[p] == c
		case p+2 < len(pattern) && pattern[p+1] == '-':
			low, high := min(pattern[p], pattern[p+2]), max(pattern[p], pattern[p+2])
			fits = fits || low <= c && c <= high
			p += 2
		default:
			fits = fits || pattern[p] == c
		}
	}
	return fits != not, min(p+1, len(pattern))
}
