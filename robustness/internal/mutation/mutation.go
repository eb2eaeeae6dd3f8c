// Package mutation breaks shipped scripts, to see whether a program notices.
package mutation

import "strings"

// Mutation is a change to one script: of the first occurrence of Old to New.
type Mutation struct{ Script, Old, New string }

// In is a change to a script.
func In(script, old, new string) Mutation { return Mutation{script, old, new} }

// Of is the text of a script with the change, if it is that script and has Old.
func (m Mutation) Of(text string) string {
	if !strings.Contains(text, "-- "+m.Script+":") {
		return text
	}
	return strings.Replace(text, m.Old, m.New, 1)
}
