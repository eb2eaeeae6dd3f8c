package fence

import (
	"regexp"
	"strconv"
	"strings"
)

// Style is the dialect of a database: its placeholders and its quotes.
type Style int

// The styles of SQLite, of PostgreSQL, and of MySQL and MariaDB.
const (
	Question Style = iota // ?, or ?1, ?2, …
	Dollar                // $1, $2, …
	MySQL                 // ?, and names in backquotes
)

// The placeholders of each style. SQLite accepts ?1, ?2, … as well as ?.
var (
	questionMark = regexp.MustCompile(`\?(\d*)`)
	dollarMark   = regexp.MustCompile(`\$(\d+)`)
)

// placeholders returns the highest argument number that a text refers to.
func (s Style) placeholders(text string) (last int) {
	form := questionMark
	switch s {
	case Dollar:
		form = dollarMark
	case MySQL:
		return strings.Count(text, "?")
	}
	for _, mark := range form.FindAllStringSubmatch(text, -1) {
		n := last + 1 // this is how SQLite counts a placeholder without a number
		if mark[1] != "" {
			n, _ = strconv.Atoi(mark[1]) // a number that is too large has no argument anyway
		}
		last = max(last, n)
	}
	return last
}

// placeholder is that of argument n. It has a number where there are numbers, because the text
// before it may use one argument twice, or contain a placeholder in quotes.
func (s Style) placeholder(n int) string {
	switch s {
	case Dollar:
		return "$" + strconv.Itoa(n)
	case MySQL:
		return "?"
	}
	return "?" + strconv.Itoa(n)
}

// What keeps a database from reading the condition behind a text. Some drivers of SQLite then
// write every row. In MySQL # begins a comment, too, and a backslash may take the place of the
// end of a quotation.
var (
	cutsOff      = regexp.MustCompile(`[;\x00]|--|/\*`)
	cutsOffMySQL = regexp.MustCompile(`[;\x00#\\]|--|/\*`)
)

// cutsOff reports whether a text may keep the database from reading what follows it.
func (s Style) cutsOff(text string) bool {
	if s == MySQL {
		return cutsOffMySQL.MatchString(text)
	}
	return cutsOff.MatchString(text)
}

// What a driver of MySQL that writes arguments into the statement itself would write elsewhere:
// a placeholder in quotes, or in front of a word.
var (
	quotation = regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`")
	joined    = regexp.MustCompile(`\?\w`)
)

// misplaces reports whether an argument may get to a place where no placeholder stands.
func (s Style) misplaces(text string) bool {
	outside := quotation.ReplaceAllString(text, "")
	return s == MySQL && (strings.Count(outside, "?") != strings.Count(text, "?") || joined.MatchString(outside))
}

// quote makes an identifier from any text.
func (s Style) quote(name string) string {
	sign := `"`
	if s == MySQL {
		sign = "`"
	}
	return sign + strings.ReplaceAll(name, sign, sign+sign) + sign
}

// quoteTable is quote for the name of a table, which may have its schema in front.
func (s Style) quoteTable(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		parts[i] = s.quote(part)
	}
	return strings.Join(parts, ".")
}

// column names a column together with its table. If a column "x" does not exist, SQLite reads a
// bare "x" as the text x. Then a misspelt key could match other rows.
func (s Style) column(table, name string) string {
	return s.quote(table[strings.LastIndex(table, ".")+1:]) + "." + s.quote(name)
}

// current follows a query that must see what others have committed. In a transaction MySQL would
// answer from the state at its beginning.
func (s Style) current() string {
	if s == MySQL {
		return " LOCK IN SHARE MODE"
	}
	return ""
}
