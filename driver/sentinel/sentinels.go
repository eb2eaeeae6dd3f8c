package sentinel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redlatch/redlatch/driver/internal/single"
)

// errMinority is that the sentinels that answer know only an older epoch, and are too few to
// be adopted.
var errMinority = errors.New("less than a majority answers, and names a primary of an older configuration")

// sentinels is all sentinels together, and the latest answer that was adopted.
type sentinels struct {
	options Options

	mu      sync.Mutex
	adopted answer           // empty before the first
	learned []string         // sentinels that others named
	node    *single.Driver   // whose connections go to the primary; nil until there is one
	conns   map[string]*conn // by address
	closed  bool
}

// serve says whose connections to drop from now on.
func (s *sentinels) serve(node *single.Driver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.node = node
}

// find asks for the primary, and drops the connections if it has become another server. The
// driver of the primary calls it for each connection. If find drops, that connection is
// dropped as well, and the next attempt to make it finds nothing new.
func (s *sentinels) find(ctx context.Context) (address string, err error) {
	before, learned := s.latest()
	all := max(len(s.options.Sentinels), len(learned))
	found, err := s.query(ctx, s.options.Sentinels, all, before)
	if err != nil && ctx.Err() == nil && len(learned) > 0 {
		if other, otherErr := s.query(ctx, learned, all, before); otherErr == nil {
			found, err = other, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("no sentinel says who %s is: %w", s.options.Master, err)
	}
	return s.adopt(before, found), nil
}

// latest is the answer that was adopted last, and the sentinels that it named.
func (s *sentinels) latest() (adopted answer, learned []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.adopted, s.learned
}

// adopt adopts an answer. Before is what had been adopted when the question was put: if
// another call has adopted a newer answer meanwhile, that one applies.
func (s *sentinels) adopt(before, found answer) (address string) {
	s.mu.Lock()
	if s.adopted.epoch > before.epoch && s.adopted.epoch > found.epoch {
		found = s.adopted
	}
	old, node := s.adopted.primary, s.node
	s.adopted, s.learned = found, found.others
	s.mu.Unlock()
	if node != nil && old != found.primary {
		single.Drop(node, fmt.Errorf("%s is at %s now", s.options.Master, found.primary))
	}
	return found.primary
}

// query asks some of all sentinels at the same time. It returns the newest answer of
// a majority, or of everybody if those are older than what is known. When its time is over,
// it takes what there is. But an answer that is older than what is known only applies if a
// majority of all sentinels has answered. It waits for its goroutines, which end with the
// context at once.
func (s *sentinels) query(ctx context.Context, addresses []string, all int, known answer) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.answerWithin())
	outcomes := make(chan answer, len(addresses))
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	for _, address := range addresses {
		asking.Go(func() { outcomes <- s.ask(ctx, address) })
	}
	var answers []answer
	var failures failures
	for range addresses {
		a := <-outcomes
		if a.err != nil {
			failures = append(failures, a.err)
			continue
		}
		answers = append(answers, a)
		if best := newest(answers, known); 2*len(answers) > len(addresses) && best.epoch >= known.epoch {
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

// newest is the answer with the highest epoch. Among several it prefers one that agrees with
// what is known: sentinels may name one server by a hostname and by an address.
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
