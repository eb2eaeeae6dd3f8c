package sentinel

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
)

const (
	// lookEvery is the pause between two questions of the watch.
	lookEvery = time.Second
	// looksEach is how often it asks one sentinel before it turns to the next: one that is
	// cut off from the others goes on naming the primary that it knows.
	looksEach = 10
	// firstPause is the pause before it turns to another sentinel. It doubles with each
	// one that is of no use, up to lookEvery.
	firstPause = 20 * time.Millisecond
)

// watch holds on to one sentinel after another until ctx ends.
func (c *council) watch(ctx context.Context) {
	pause := firstPause
	for turn := 0; ctx.Err() == nil; turn++ {
		began := time.Now()
		c.heed(ctx, c.turn(turn))
		if time.Since(began) > lookEvery {
			pause = firstPause
		}
		rest(ctx, pause-rand.N(pause/2+1)) // so that clients do not all ask at the same moment
		pause = min(2*pause, lookEvery)
	}
}

// turn is one of the sentinels, configured or learned.
func (c *council) turn(n int) (address string) {
	_, learned := c.memory()
	all := slices.Clone(c.options.Sentinels)
	for _, address := range learned {
		if !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return all[n%len(all)]
}

// heed listens to one sentinel, and asks it once a second, until it is the next one's turn,
// or this one fails to answer, or turns out to be behind the others.
func (c *council) heed(ctx context.Context, address string) {
	attempt, cancel := context.WithTimeout(ctx, c.options.patience())
	defer cancel()
	d, err := c.reach(attempt, address)
	if err != nil {
		return
	}
	news := make(chan struct{}, 1)
	l, err := d.Listen(attempt, driver.Events{Message: func(_, payload string) {
		if strings.HasPrefix(payload, c.options.Master+" ") {
			select {
			case news <- struct{}{}:
			default:
			}
		}
	}})
	if err != nil {
		return
	}
	defer l.Close()
	if l.Subscribe(attempt, "+switch-master") != nil {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for looks := 0; looks < looksEach && c.look(ctx, address); looks++ {
		select {
		case <-tick.C:
		case <-news:
		case <-l.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// look asks one sentinel, and all of them if it names another primary than the one that
// is known. It says whether that sentinel is worth listening to any longer.
func (c *council) look(ctx context.Context, address string) bool {
	attempt, cancel := context.WithTimeout(ctx, c.options.patience())
	defer cancel()
	replies, err := c.question(attempt, address, whereIs(c.options.Master))
	if err != nil {
		return false
	}
	primary, err := primaryOf(replies[0])
	if err != nil {
		return false
	}
	if known, _ := c.memory(); primary == known.primary {
		return true
	}
	found, err := c.find(ctx)
	return err == nil && found == primary
}

// rest waits for a pause, or the end of ctx.
func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
