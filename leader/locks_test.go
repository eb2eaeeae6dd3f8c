package leader_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/redlatchtest"
)

// Goal: with a fair lock and a longest time, leaders take turns, and no two lead at a time.
func TestLeadersTakeTurns(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer stop()
		var leading atomic.Int32
		var turns [3]atomic.Int32
		for i := range turns {
			lock := s.Client(redlatch.Config{}).FairMutex("leader")
			all.Go(func() {
				_ = leader.Run(ctx, lock, leader.Callbacks{Started: func(ctx context.Context, _ *redlatch.Hold) {
					if leading.Add(1) > 1 {
						t.Error("two lead")
					}
					defer leading.Add(-1)
					turns[i].Add(1)
					<-ctx.Done()
				}}, redlatch.WithMaxHold(20*time.Second))
			})
		}
		time.Sleep(3*time.Minute + 5*time.Second)
		for i := range turns {
			if n := turns[i].Load(); n < 3 || n > 4 {
				t.Errorf("candidate %d led %d times in 3 minutes", i, n)
			}
		}
	})
}

// Goal: two elections under one owner (Client.WithOwner) elect one leader. Re-entry would make two. An election inside
// the leadership fails, and its error does not advise what cannot help.
func TestOneOwnerLeadsOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		client := s.Client(redlatch.Config{})
		ctx, stop := context.WithCancel(client.WithOwner(t.Context()))
		var all sync.WaitGroup
		defer all.Wait()
		defer stop()
		started := make(chan *redlatch.Hold, 2)
		for range 2 {
			all.Go(func() {
				_ = leader.Run(ctx, client.Mutex("leader"), leader.Callbacks{Started: func(ctx context.Context, h *redlatch.Hold) {
					started <- h
					err := leader.Run(client.WithOwner(ctx), client.Mutex("leader"), leader.Callbacks{Started: func(context.Context, *redlatch.Hold) {
						t.Error("a leader leads twice")
					}})
					if !errors.Is(err, redlatch.ErrReentry) || strings.Contains(err.Error(), "WithOwner") {
						t.Error("an election inside:", err)
					}
					<-ctx.Done()
				}})
			})
		}
		next(t, "one leads", started)
		time.Sleep(5 * time.Minute)
		if len(started) > 0 {
			t.Error("two lead")
		}
	})
}

// Goal: a quorum of servers elects. One server less changes nothing; with two less the leader steps
// down, and leads again when they are back.
func TestAQuorumElects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var servers []*redlatchtest.Server
		var locks []redlatch.Lock
		for range 3 {
			s := redlatchtest.NewServer(t)
			servers, locks = append(servers, s), append(locks, s.Client(redlatch.Config{}).Mutex("leader"))
		}
		quorum, err := redlatch.NewQuorum(locks...)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var run sync.WaitGroup
		defer run.Wait()
		defer stop()
		work, stopped := make(chan context.Context, 10), make(chan error, 10)
		run.Go(func() {
			_ = leader.Run(ctx, quorum, leader.Callbacks{
				Started: func(ctx context.Context, _ *redlatch.Hold) { work <- ctx; <-ctx.Done() },
				Stopped: func(err error) { stopped <- err },
				Failed:  func(error) {},
			})
		})
		first := next(t, "it leads", work)
		thaw := servers[0].Freeze()
		time.Sleep(10 * time.Minute)
		if first.Err() != nil {
			t.Error("it stepped down with a majority:", context.Cause(first))
		}
		thaw2 := servers[1].Freeze()
		if err := next(t, "Stopped", stopped); !errors.Is(err, redlatch.ErrLost) {
			t.Error("Stopped got:", err)
		}
		time.Sleep(time.Minute)
		thaw()
		thaw2()
		next(t, "it leads again", work)
	})
}
