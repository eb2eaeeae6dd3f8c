package sentinel

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/signal"
)

const (
	// checkEvery is the pause between two questions to the followed sentinel.
	checkEvery = time.Second
	// checksEach is how many questions one sentinel gets before the next one is followed: a
	// sentinel that is cut off from the others goes on naming the primary that it knows.
	checksEach = 10
)

// followEach follows one sentinel after another until ctx ends. It pauses in between, for
// longer after each sentinel that is of no use.
func (s *sentinels) followEach(ctx context.Context) {
	backoff := call.Backoff()
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		s.follow(ctx, s.pick(n))
		if time.Since(began) > checkEvery {
			backoff.Reset()
		}
		_ = backoff.Wait(ctx)
	}
}

// pick is the sentinel to follow, of those configured and those learned.
func (s *sentinels) pick(n int) (address string) {
	_, learned := s.latest()
	all := slices.Clone(s.options.Sentinels)
	for _, address := range learned {
		if !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return all[n%len(all)]
}

// follow listens to one sentinel, and asks it once a second, until the next one is due,
// or this one fails to answer, or turns out to be behind the others.
func (s *sentinels) follow(ctx context.Context, address string) {
	attempt, cancel := context.WithTimeout(ctx, s.options.answerWithin())
	defer cancel()
	d, err := s.connect(attempt, address)
	if err != nil {
		return
	}
	switched := make(chan struct{}, 1)
	l, err := d.Listen(attempt, driver.Events{Message: func(_, payload string) {
		if strings.HasPrefix(payload, s.options.Master+" ") {
			signal.Send(switched)
		}
	}})
	if err != nil {
		return
	}
	defer l.Close()
	if l.Subscribe(attempt, "+switch-master") != nil {
		return
	}
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for checks := 0; checks < checksEach && s.check(ctx, address); checks++ {
		select {
		case <-tick.C:
		case <-switched:
		case <-l.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// check asks one sentinel, and all of them if it names another primary than the one that
// was adopted. It says whether to follow that sentinel any longer.
func (s *sentinels) check(ctx context.Context, address string) bool {
	attempt, cancel := context.WithTimeout(ctx, s.options.answerWithin())
	defer cancel()
	replies, err := s.send(attempt, address, getPrimary(s.options.Master))
	if err != nil {
		return false
	}
	primary, err := readPrimary(replies[0])
	if err != nil {
		return false
	}
	if adopted, _ := s.latest(); primary == adopted.primary {
		return true
	}
	found, err := s.find(ctx)
	return err == nil && found == primary
}
