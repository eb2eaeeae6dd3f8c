package sentinel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redlatch/redlatch/driver/rueidis"
)

// errUnheardOf is a sentinel that answers, but does not know the name.
var errUnheardOf = errors.New("it knows no master of that name")

// errMinority is that those who answer are behind the times, and too few to be believed.
var errMinority = errors.New("less than a majority answers, and names a primary of an older configuration")

// council is all sentinels together, and what they have agreed upon.
type council struct {
	options Options

	mu      sync.Mutex
	known   answer             // the latest that was believed; empty before the first
	learned []string           // sentinels that others told of
	node    *rueidis.Driver    // whose connections go to the primary; nil until there is one
	members map[string]*member // by address
	closed  bool
}

// find asks for the primary, and drops the connections if it has become another one. It
// is rueidis.Options.Resolve: the connection for which it is asked is then dropped as
// well, and the next attempt to make it finds nothing new.
func (c *council) find(ctx context.Context) (address string, err error) {
	before, learned := c.memory()
	all := max(len(c.options.Sentinels), len(learned))
	found, err := c.survey(ctx, c.options.Sentinels, all, before)
	if err != nil && ctx.Err() == nil && len(learned) > 0 {
		if other, otherErr := c.survey(ctx, learned, all, before); otherErr == nil {
			found, err = other, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("no sentinel says who %s is: %w", c.options.Master, err)
	}
	return c.believe(before, found), nil
}

// memory is what was found last.
func (c *council) memory() (known answer, learned []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known, c.learned
}

// believe takes an answer over. Before is what was known when the question was put: if
// somebody else has come by a newer answer meanwhile, it is that one that counts.
func (c *council) believe(before, found answer) (address string) {
	c.mu.Lock()
	if c.known.epoch > before.epoch && c.known.epoch > found.epoch {
		found = c.known
	}
	old, node := c.known.primary, c.node
	c.known, c.learned = found, found.others
	c.mu.Unlock()
	if node != nil && old != found.primary {
		node.Drop(fmt.Errorf("%s is at %s now", c.options.Master, found.primary))
	}
	return found.primary
}

// serve says whose connections to drop from now on.
func (c *council) serve(node *rueidis.Driver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.node = node
}

// outcome is what became of one question.
type outcome struct {
	answer answer
	err    error
}

// survey asks several of all sentinels at the same time, and returns the newest answer of
// a majority, or of everybody if those are older than what is known. Its patience is
// limited; when that is over, whatever there is counts. But an answer that is older than
// what is known only counts if a majority of all sentinels has answered. It waits for its
// goroutines, which end with the context at once.
func (c *council) survey(ctx context.Context, sentinels []string, all int, known answer) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.patience())
	outcomes := make(chan outcome, len(sentinels))
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	for _, address := range sentinels {
		asking.Go(func() {
			a, err := c.ask(ctx, address)
			outcomes <- outcome{a, err}
		})
	}
	var answers []answer
	var failures failures
	for range sentinels {
		o := <-outcomes
		if o.err != nil {
			failures = append(failures, o.err)
			continue
		}
		answers = append(answers, o.answer)
		if best := newest(answers, known); 2*len(answers) > len(sentinels) && best.epoch >= known.epoch {
			return best, nil
		}
	}
	if len(answers) == 0 {
		return answer{}, failures
	}
	best := newest(answers, known)
	if best.epoch < known.epoch && 2*len(answers) <= all {
		return answer{}, append(failures, errMinority)
	}
	return best, nil
}

// newest is the answer with the highest epoch. Of several it is one that agrees with what is
// known: sentinels may call one server by a hostname and by an address.
func newest(answers []answer, known answer) answer {
	agrees := func(a answer) int {
		if a.primary == known.primary && a.epoch == known.epoch {
			return 1
		}
		return 0
	}
	return slices.MaxFunc(answers, func(a, b answer) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), agrees(a)-agrees(b))
	})
}

// failures are the reasons of several sentinels, in one line.
type failures []error

func (f failures) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (f failures) Unwrap() []error { return f }
