package histories

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is what the checker found out about a history.
type Verdict struct {
	Wrong   []string // the locks whose history is impossible
	Open    []string // the locks whose history took too long to check
	Story   string   // the first wrong history, shrunk, one operation a line
	Picture string   // an HTML file that shows it
}

// Check checks the history of each lock on its own. It works for at most limit on each lock.
func Check(operations []Operation, limit time.Duration) (v Verdict, err error) {
	locks := map[string][]Operation{}
	for _, o := range operations {
		locks[o.Lock] = append(locks[o.Lock], o)
	}
	for lock, ofOne := range locks {
		switch result, _ := check(ofOne, limit); {
		case result == porcupine.Unknown:
			v.Open = append(v.Open, lock)
		case result == porcupine.Illegal && v.Wrong == nil:
			v.Wrong = append(v.Wrong, lock)
			err = v.tell(shrink(ofOne, func(less []Operation) bool {
				result, _ := check(less, limit)
				return result == porcupine.Illegal
			}), limit)
		case result == porcupine.Illegal:
			v.Wrong = append(v.Wrong, lock)
		}
	}
	return v, err
}

func check(operations []Operation, limit time.Duration) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	var history []porcupine.Operation
	for _, o := range operations {
		history = append(history, porcupine.Operation{ClientId: o.Client, Input: o, Call: int64(o.Call), Return: int64(o.Return)})
	}
	return porcupine.CheckOperationsVerbose(model, history, limit)
}

var model = (&porcupine.NondeterministicModel{
	Init:              func() []any { return []any{state{}} },
	Step:              func(s, input, _ any) []any { return s.(state).step(input.(Operation)) },
	DescribeOperation: func(input, _ any) string { return input.(Operation).String() },
	DescribeState:     func(s any) string { return s.(state).String() },
}).ToModel()

// tell writes down a wrong history. The picture stays after the test.
func (v *Verdict) tell(operations []Operation, limit time.Duration) error {
	var lines strings.Builder
	for _, o := range operations {
		fmt.Fprintf(&lines, "%10.3f to %10.3f ms  client %d: %v\n", o.Call.Seconds()*1e3, o.Return.Seconds()*1e3, o.Client, o)
	}
	v.Story = lines.String()
	f, err := os.CreateTemp("", "redlatch-history-*.html")
	if err != nil {
		return fmt.Errorf("the picture of a wrong history: %w", err)
	}
	defer f.Close()
	v.Picture = f.Name()
	_, info := check(operations, limit)
	return porcupine.Visualize(model, info, f)
}
