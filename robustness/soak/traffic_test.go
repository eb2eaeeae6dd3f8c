package soak

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/watchdog"
)

const lease = 2 * time.Second

// traffic is everything that goes on during a run.
type traffic struct {
	counters
	began   time.Time
	servers []*redistest.Server
	proxies []*redistest.Proxy
	clients [][]*redlatch.Client // of each process, one for each server
	last    meter

	cancel context.CancelFunc
	work   sync.WaitGroup
}

// start starts three servers, four processes that each reach them through proxies of their own, and
// a watchdog. The locks of two of the processes are protected.
func start(t *testing.T) *traffic {
	ctx, cancel := context.WithCancel(context.Background())
	tr := &traffic{began: time.Now(), cancel: cancel}
	for range 3 {
		tr.servers = append(tr.servers, redistest.Start(t))
	}
	for i := range 4 {
		var clients []*redlatch.Client
		for _, s := range tr.servers {
			p := redistest.NewProxy(t, s.Addr())
			tr.proxies = append(tr.proxies, p)
			clients = append(clients, open(t, p.URL(), i < 2))
		}
		tr.clients = append(tr.clients, clients)
	}
	tr.watch(t, ctx)
	for i := range 12 {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		tr.work.Go(func() {
			for pause.For(ctx, time.Duration(random.Int64N(int64(100*time.Millisecond)))) == nil {
				tr.turn(ctx, tr.clients[i%len(tr.clients)], random)
			}
		})
	}
	for i, p := range tr.proxies {
		random := rand.New(rand.NewPCG(uint64(i), 2))
		tr.work.Go(func() {
			for pause.For(ctx, time.Duration(random.Int64N(int64(20*time.Second)))) == nil {
				p.Disturb(random, 2*lease)
				tr.disturbed.Add(1)
			}
		})
	}
	t.Cleanup(tr.stop)
	return tr
}

func open(t *testing.T, url string, protect bool) *redlatch.Client {
	c, err := redlatch.Open(t.Context(), url, redlatch.Config{
		LeaseTime: lease, CommandTimeout: time.Second, ReleaseTimeout: time.Second, Protect: protect,
		Logger: slog.New(slog.DiscardHandler), // losses are expected
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// watch runs a watchdog for each server.
func (tr *traffic) watch(t *testing.T, ctx context.Context) {
	for i := range tr.servers {
		c := open(t, tr.servers[i].URL(), false)
		w := redistest.Must(watchdog.New(c.Driver(), watchdog.Config{Logger: slog.New(slog.DiscardHandler)}))
		tr.work.Go(func() { _ = w.Run(ctx) })
	}
}

// stop ends the traffic and waits for it.
func (tr *traffic) stop() {
	tr.cancel()
	tr.work.Wait()
}

// losses is how many locks were lost.
func (tr *traffic) losses() (n int64) {
	for _, clients := range tr.clients {
		for _, c := range clients {
			n += c.Stats().Losses
		}
	}
	return n
}

// turn takes one lock, and holds it for a moment or for longer than its lease.
func (tr *traffic) turn(ctx context.Context, clients []*redlatch.Client, random *rand.Rand) {
	number := window(tr.began, random)
	for last := tr.names.Load(); int64(number) >= last && !tr.names.CompareAndSwap(last, int64(number)+1); last = tr.names.Load() {
	}
	options := []redlatch.LockOption{redlatch.WithWait(time.Duration(random.Int64N(int64(time.Second))))}
	lock := lockOf(clients, number, random)
	switch random.IntN(10) {
	case 0, 1:
		options = append(options, redlatch.WithLease(lease))
	case 2: // the counters of tokens stay, so these names do
		lock = clients[0].Mutex(fmt.Sprint("soak-fenced-", number%50))
		options = append(options, redlatch.WithFencing())
	}
	hold, err := lock.Lock(ctx, options...)
	if err != nil {
		return
	}
	tr.holds.Add(1)
	most := 20 * time.Millisecond
	if random.IntN(200) == 0 {
		most = 3 * lease
	}
	_ = pause.For(ctx, time.Duration(random.Int64N(int64(most))))
	_ = hold.Unlock(context.Background()) // it may be lost
}

// lockOf makes a lock of a kind that its number decides.
func lockOf(clients []*redlatch.Client, number int, random *rand.Rand) redlatch.Lock {
	name, c := fmt.Sprint("soak-", number), clients[number%len(clients)]
	switch number % 6 {
	case 0, 1:
		return c.Mutex(name)
	case 2:
		return c.FairMutex(name)
	case 3:
		if random.IntN(3) > 0 {
			return c.RWMutex(name).RLocker()
		}
		return c.RWMutex(name)
	case 4:
		return redistest.Must(redlatch.NewMulti(clients[0].Mutex(name), clients[1].Mutex(name), clients[1].Mutex(name+"-b")))
	}
	var members []redlatch.Lock
	for _, one := range clients {
		members = append(members, one.Mutex(name))
	}
	return redistest.Must(redlatch.NewQuorum(members...))
}
