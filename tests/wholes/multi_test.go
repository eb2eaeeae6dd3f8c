package wholes_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

func TestAMultiHoldsAllOfItsMembersOrNone(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		ctx, id := t.Context(), redistest.Name(t)
		a, b, c := id+"a", id+"b", id+"c"
		client, other := fixture.Open(t, url, redlatch.Config{}), fixture.Open(t, url, redlatch.Config{})
		m := check.Must(redlatch.NewMulti(fixture.Mutexes(client, c, a, b)...))
		h := check.Must(m.Lock(ctx))
		if got := fixture.Locked(t, other, a, b, c); len(got) != 3 {
			t.Errorf("of three members only %v are locked", got)
		}
		if h.Owner() != "" || h.Token() != 0 || len(h.Members()) != 3 || !h.Valid() || h.Err() != nil {
			t.Errorf("a hold of %q, token %d, %d members, valid %v: %v", h.Owner(), h.Token(), len(h.Members()), h.Valid(), h.Err())
		}
		for _, one := range h.Members() {
			if one.Owner() == "" || one.Deadline().Before(h.Deadline()) || one.Members() != nil {
				t.Errorf("a member of %q that ends at %v, the whole at %v", one.Owner(), one.Deadline(), h.Deadline())
			}
		}
		if _, err := client.Mutex(b).TryLock(h.Context()); !errors.Is(err, redlatch.ErrReentry) {
			t.Errorf("a member taken again below the whole's context is %v, want ErrReentry", err)
		}
		if err := h.Unlock(ctx); err != nil {
			t.Error("Unlock:", err)
		}
		if got := fixture.Locked(t, other, a, b, c); len(got) != 0 || !errors.Is(h.Err(), redlatch.ErrReleased) {
			t.Errorf("after Unlock %v are locked, and Err is %v", got, h.Err())
		}
	})
}

func TestMembersInOneSlotAreOneRequest(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b", "c", "d", "e")...))
		_ = check.Must(m.Lock(t.Context())).Unlock(t.Context()) // the scripts are loaded
		before := s.Driver.Trips.Load()
		h := check.Must(m.Lock(t.Context()))
		if n := s.Driver.Trips.Load() - before; n != 1 {
			t.Errorf("Lock was %d requests", n)
		}
		if err := h.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		if n := s.Driver.Trips.Load() - before; n != 2 {
			t.Errorf("Lock and Unlock were %d requests", n)
		}
	})
}

// cluster is a driver that says that its keys are divided among servers.
type cluster struct{ *stage.Tap }

func (cluster) Shard(key string) string { return strconv.Itoa(driver.Slot(key)) }

func (cluster) ShardMessages() bool { return false }

func TestInAClusterOneRequestTakesTheMembersOfOneSlot(t *testing.T) {
	ctx := t.Context()
	d := check.Must(memory.Open(ctx, memory.Options{}))
	defer d.Close()
	counted := &stage.Tap{Driver: d}
	c := check.Must(redlatch.New(cluster{counted}, fixture.Quiet(redlatch.Config{})))
	defer c.Close(ctx)
	for _, one := range []struct {
		names []string
		trips int64
	}{
		{[]string{"{x}a", "{x}b", "{x}c"}, 1},
		{[]string{"{x}a", "{y}a", "{x}b", "{y}b"}, 2},
		{[]string{"{x}a", "{y}a", "{z}a"}, 3},
	} {
		m := check.Must(redlatch.NewMulti(fixture.Mutexes(c, one.names...)...))
		_ = check.Must(m.Lock(ctx)).Unlock(ctx) // the scripts are loaded
		before := counted.Trips.Load()
		h := check.Must(m.Lock(ctx))
		if n := counted.Trips.Load() - before; n != one.trips {
			t.Errorf("Lock of %v was %d requests, want %d", one.names, n, one.trips)
		}
		_ = h.Unlock(ctx)
	}
}

// A fixed lease begins when the last member was taken, however long that took: until then
// the others are renewed, and after that they are not.
func TestAFixedLeaseOfAMultiBeginsWithItsLastMember(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b", "c")...))
		rival := check.Must(s.Other(redlatch.Config{}).Mutex(strings.Split(m.Name(), "+")[1]).Lock(t.Context()))
		go func() {
			time.Sleep(47 * time.Second)
			_ = rival.Unlock(t.Context())
		}()
		h := check.Must(m.Lock(t.Context(), redlatch.WithLease(5*time.Second)))
		for _, name := range []string{"a", "b", "c"} {
			check.Within(t, "TTL of "+name, s.TTL(name), 4990*time.Millisecond, 5*time.Second)
		}
		if n := s.Client.Stats().Losses; n > 0 {
			t.Errorf("%d members were lost while the last was waited for", n)
		}
		began := time.Now()
		awaitEnd(t, h)
		check.Within(t, "the hold", time.Since(began), 4900*time.Millisecond, 5*time.Second)
		check.Is(t, "Err", h.Err(), redlatch.ErrLost)
		_ = h.Unlock(t.Context())
	})
}

func TestAMultiReentersWhatItsOwnerHolds(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		id := redistest.Name(t)
		names := []string{id + "a", id + "b", id + "c"}
		client, other := fixture.Open(t, url, redlatch.Config{}), fixture.Open(t, url, redlatch.Config{})
		ctx := client.WithOwner(t.Context())
		outer := check.Must(client.Mutex(names[1]).Lock(ctx))
		count := func(want int) {
			t.Helper()
			if got, _ := check.Must(other.Mutex(names[1]).Status(ctx)).HeldBy(outer.Owner()); got != want {
				t.Errorf("the count is %d, want %d", got, want)
			}
		}
		m := check.Must(redlatch.NewMulti(fixture.Mutexes(client, names...)...))
		h := check.Must(m.Lock(ctx))
		count(2)
		again := check.Must(m.Lock(ctx))
		count(3)
		_ = again.Unlock(ctx)
		_ = h.Unlock(ctx)
		count(1)

		rival := check.Must(other.Mutex(names[2]).Lock(ctx))
		_, err := m.TryLock(ctx)
		check.Is(t, "TryLock", err, redlatch.ErrNotAcquired)
		count(1) // the rollback took back one hold and not the owner's own
		if got := fixture.Locked(t, other, names[:2]...); len(got) != 1 {
			t.Errorf("%v are locked, want what the owner held before", got)
		}
		if !outer.Valid() {
			t.Error("the outer hold has ended:", outer.Err())
		}
		_ = rival.Unlock(ctx)
		if err := outer.Unlock(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestAMultiOfEveryKindOfLockOnTwoServers(t *testing.T) {
	t.Parallel()
	ctx, id := t.Context(), redistest.Name(t)
	a, b := fixture.Open(t, redistest.Shared(t).URL(), redlatch.Config{}), fixture.Open(t, "memory://"+id, redlatch.Config{})
	inner := check.Must(redlatch.NewMulti(a.FairMutex(id+"fair"), b.RWMutex(id+"rw").RLocker()))
	m := check.Must(redlatch.NewMulti(a.Mutex(id+"m"), inner, b.RWMutex(id+"write"), a.Mutex(id+"n"), b.Mutex(id+"m")))
	reader := check.Must(b.RWMutex(id + "rw").RLock(ctx))
	h := check.Must(m.Lock(ctx, redlatch.WithFencing()))
	if n := len(h.Members()); n != 6 {
		t.Errorf("%d members", n)
	}
	for _, one := range h.Members() {
		if one.Token() == 0 {
			t.Error("a member has no token")
		}
	}
	_ = reader.Unlock(ctx)
	if err := h.Unlock(ctx); err != nil {
		t.Error(err)
	}
	if got := fixture.Locked(t, a, id+"fair", id+"m", id+"n"); len(got) > 0 {
		t.Errorf("%v are locked", got)
	}
}

func TestMultisThatCannotBe(t *testing.T) {
	t.Parallel()
	ctx, id := t.Context(), redistest.Name(t)
	c, same := fixture.Open(t, "memory://"+id, redlatch.Config{}), fixture.Open(t, "memory://"+id, redlatch.Config{})
	for what, locks := range map[string][]redlatch.Lock{
		"nothing":                nil,
		"nil":                    {nil},
		"a quorum":               {check.Must(redlatch.NewQuorum(c.Mutex("a")))},
		"one mutex twice":        {c.Mutex("a"), c.Mutex("b"), c.Mutex("a")},
		"one key, two clients":   {c.Mutex("a"), same.Mutex("a")},
		"both sides of a lock":   {c.RWMutex("a"), c.RWMutex("a").RLocker()},
		"two kinds on one key":   {c.Mutex("a"), c.FairMutex("a")},
		"a clash with an inside": {c.Mutex("a"), check.Must(redlatch.NewMulti(c.Mutex("a")))},
	} {
		_, err := redlatch.NewMulti(locks...)
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "NewMulti" {
			t.Errorf("%s: %v, want a ConfigError for NewMulti", what, err)
		}
	}
	_, err := redlatch.NewMulti(c.Mutex("a"), c.Mutex(""))
	check.Is(t, "a member without a name", err, redlatch.ErrInvalidName)
	_, err = check.Must(redlatch.NewMulti(c.Mutex("a"), c.Mutex("b"))).Lock(ctx, redlatch.WithLease(1))
	if _, ok := errors.AsType[*redlatch.ConfigError](err); !ok {
		t.Errorf("a lease of 1 ns: %v", err)
	}
	many, began := make([]string, 20_000), time.Now()
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	check.Must(redlatch.NewMulti(fixture.Mutexes(c, many...)...))
	check.Within(t, "NewMulti of 20,000 members", time.Since(began), 0, 5*time.Second) // to compare all pairs takes ten times as long
	// Private servers are not the same, though their URLs are.
	_, err = check.Must(redlatch.NewMulti(fixture.Open(t, "memory://", redlatch.Config{}).Mutex("a"), fixture.Open(t, "memory://", redlatch.Config{}).Mutex("a"))).Lock(ctx)
	if err != nil {
		t.Error("one name on two servers:", err)
	}
}

func TestAMemberThatIsNoLockIsNamedAndNothingIsHeld(t *testing.T) {
	t.Parallel()
	ctx, id := t.Context(), redistest.Name(t)
	url := redistest.Shared(t).URL()
	c := fixture.Open(t, url, redlatch.Config{})
	fixture.Do(t, fixture.Raw(t, url), "SET", id+"b", "text")
	for _, wait := range []time.Duration{0, time.Second} {
		_, err := check.Must(redlatch.NewMulti(fixture.Mutexes(c, id+"a", id+"b", id+"c")...)).Lock(ctx, redlatch.WithWait(wait))
		check.Is(t, "Lock", err, redlatch.ErrWrongType)
		if got := fixture.Locked(t, c, id+"a", id+"c"); len(got) > 0 {
			t.Errorf("%v are locked", got)
		}
	}
}

// Goal: a large Multi makes nobody else wait for long. Method: no script takes more than a hundred members.
func TestALargeMultiIsTakenInParts(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		_ = check.Must(check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b")...)).Lock(t.Context())).Unlock(t.Context())
		var names []string
		for i := range 250 {
			names = append(names, "m"+strconv.Itoa(i))
		}
		before := s.Driver.Trips.Load()
		h := check.Must(check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, names...)...)).Lock(t.Context()))
		if n := s.Driver.Trips.Load() - before; n != 3 {
			t.Errorf("250 members were taken in %d requests", n)
		}
		if err := h.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
