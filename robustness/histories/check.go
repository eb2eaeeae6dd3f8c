package histories

import (
	"fmt"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is what the checker found out about a history.
type Verdict struct {
	Wrong []string // the locks whose history is impossible
	Open  []string // the locks whose history took too long to check
	Story string   // the first wrong history, shrunk, one operation a line
}

// Check checks the history of each lock on its own. It works for at most limit on each lock.
func Check(operations []Operation, limit time.Duration) (v Verdict) {
	locks := map[string][]Operation{}
	for _, o := range operations {
		locks[o.Lock] = append(locks[o.Lock], o)
	}
	for lock, ofOne := range locks {
		switch check(ofOne, limit) {
		case porcupine.Unknown:
			v.Open = append(v.Open, lock)
		case porcupine.Illegal:
			if v.Wrong = append(v.Wrong, lock); v.Story == "" {
				until := time.Now().Add(10 * time.Second) // some parts of a history take very long to check
				v.Story = story(shrink(ofOne, func(less []Operation) bool {
					return time.Now().Before(until) && check(less, time.Second) == porcupine.Illegal
				}))
			}
		}
	}
	return v
}

func check(operations []Operation, limit time.Duration) porcupine.CheckResult {
	var history []porcupine.Operation
	for _, o := range operations {
		history = append(history, porcupine.Operation{ClientId: o.Client, Input: o, Call: int64(o.Call), Return: int64(o.Return)})
	}
	return porcupine.CheckOperationsTimeout(model, history, limit)
}

var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{state{}} },
	Step: func(s, input, _ any) []any { return s.(state).step(input.(Operation)) },
}).ToModel()

func story(operations []Operation) string {
	var lines strings.Builder
	for _, o := range operations {
		fmt.Fprintf(&lines, "%10.3f to %10.3f ms  client %d: %v\n", o.Call.Seconds()*1e3, o.Return.Seconds()*1e3, o.Client, o)
	}
	return lines.String()
}
