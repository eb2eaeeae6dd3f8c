package inspect_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/redistest"
)

// meddler is the driver of a Cluster. It calls a function before each SCAN for hashes on one server.
type meddler struct {
	*cluster.Driver
	address string
	before  func(times int)
	times   int
}

func (m *meddler) Servers(ctx context.Context) ([]driver.Server, error) {
	servers, err := m.Driver.Servers(ctx)
	for n, s := range servers {
		servers[n].Pipeline = func(ctx context.Context, commands ...driver.Command) []driver.Reply {
			if words := commands[0].Words; s.Address == m.address && words[0] == "SCAN" && words[len(words)-1] == "hash" {
				m.times++
				m.before(m.times)
			}
			return s.Pipeline(ctx, commands...)
		}
	}
	return servers, err
}

// moving is a Cluster with a lock on each master. A walk reads the masters in the order of servers.
type moving struct {
	*redistest.Cluster
	servers []*redistest.Server
	names   []string // of the locks
	driver  *meddler // calls before the second server is read
}

func startMoving(t *testing.T, replicas int) *moving {
	t.Helper()
	c := &moving{Cluster: redistest.StartCluster(t, 3, replicas)}
	c.servers = slices.SortedFunc(slices.Values(c.Servers[:3]), func(a, b *redistest.Server) int { return strings.Compare(a.Addr(), b.Addr()) })
	d := open(t, "redis+cluster://"+strings.Join(c.Addrs(), ","), redlatch.Config{}).Driver().(*cluster.Driver)
	c.driver = &meddler{Driver: d, address: c.servers[1].Addr(), before: func(int) {}}
	for _, s := range c.servers {
		name := c.KeyAt(t, s)
		c.names = append(c.names, name)
		do(t, d, "HSET", name, java(1, 1), "1")
		do(t, d, "PEXPIRE", name, "3600000")
	}
	return c
}

// walk returns the locks that a walk finds, and its errors. Each lock may come once.
func (c *moving) walk(t *testing.T, cfg inspect.Config) (names []string, errs []error) {
	t.Helper()
	for l, err := range inspector(t, c.driver, cfg).Locks(t.Context(), "*") {
		switch {
		case err != nil:
			errs = append(errs, err)
		case slices.Contains(names, l.Name):
			t.Errorf("%q was yielded twice", l.Name)
		default:
			names = append(names, l.Name)
		}
	}
	return names, errs
}

// wantAll walks, and wants every lock and no error.
func (c *moving) wantAll(t *testing.T) {
	t.Helper()
	names, errs := c.walk(t, fast)
	for _, name := range c.names {
		if !slices.Contains(names, name) {
			t.Errorf("%q was not found", name)
		}
	}
	if len(errs) > 0 {
		t.Error(errs)
	}
}

// Goal: a lock that stands still is found while its slot moves. Method: the slot moves from a server
// that was not read yet to one that was.
func TestALockWhoseSlotMovesDuringTheWalkIsFound(t *testing.T) {
	t.Parallel()
	c := startMoving(t, 0)
	c.driver.before = func(times int) {
		if times == 1 {
			c.MoveSlot(t, c.names[2], c.servers[0], nil)
		}
	}
	c.wantAll(t)
	if c.driver.times != 2 {
		t.Errorf("the second server was read %d times", c.driver.times)
	}
	c.driver.before = func(int) {}
	if c.wantAll(t); c.driver.times != 3 {
		t.Errorf("in peace, the second server was read %d times", c.driver.times-2)
	}
}

// Goal: the same for a slot that is migrating all the time: one of its keys moves during the walk. A server
// may refuse to read a lock of such a slot, and an error then names the lock.
func TestALockOfAMigratingSlotIsFound(t *testing.T) {
	t.Parallel()
	c := startMoving(t, 0)
	from, to := c.servers[2], c.servers[0]
	c.driver.before = func(times int) {
		if times == 1 {
			port := to.Addr()[strings.LastIndexByte(to.Addr(), ':')+1:]
			if got := from.CLI(t, "MIGRATE", "127.0.0.1", port, c.names[2], "0", "5000"); got != "OK" {
				t.Errorf("move the key: %v", got)
			}
		}
	}
	c.MoveSlot(t, c.names[2], to, func() {
		names, errs := c.walk(t, inspect.Config{Rate: 1_000_000, CommandTimeout: 3 * time.Second})
		if named := len(errs) == 1 && strings.Contains(errs[0].Error(), c.names[2]); len(names) < 2 || !named && (len(names) != 3 || len(errs) > 0) {
			t.Errorf("found %v, errors %v", names, errs)
		}
		t.Logf("found %d of 3 locks, errors %v", len(names), errs)
	})
}

// Goal: a walk says that it may have missed locks if slots move all the time.
func TestSlotsThatMoveAllTheTimeAreAnError(t *testing.T) {
	t.Parallel()
	c := startMoving(t, 0)
	c.driver.before = func(times int) { c.MoveSlot(t, c.names[2], c.servers[2*(times-1)], nil) }
	_, errs := c.walk(t, fast)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "locks may be missing") || c.driver.times != 2 {
		t.Errorf("read %d times: %v", c.driver.times, errs)
	}
}

// Goal: a walk over a failover finds each lock that stood still, or says that it may have missed some.
func TestAWalkOverAFailover(t *testing.T) {
	t.Parallel()
	for what, fail := range map[string]func(t *testing.T, c *moving){
		"in order": func(t *testing.T, c *moving) { c.FailOver(t, c.names[2]) },
		"by a crash": func(t *testing.T, c *moving) {
			c.servers[2].Kill()
			c.AwaitNewMaster(t, c.names[2], c.servers[2])
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := startMoving(t, 1)
			redistest.Eventually(t, patience, func() bool {
				return len(c.Replica(t, c.names[2]).Keys(t, "*")) == 1
			}, "the replica has the lock")
			c.driver.before = func(times int) {
				if times == 1 {
					fail(t, c)
				}
			}
			names, errs := c.walk(t, fast)
			if !slices.Contains(names, c.names[2]) && len(errs) == 0 {
				t.Error("a lock is missing, and nothing was said")
			}
			if c.driver.times != 2 {
				t.Errorf("the servers were read %d times", c.driver.times)
			}
			t.Logf("found %v of 3 locks, errors %v", len(names), errs)
		})
	}
}

// Goal: slots without a server are said, and what the others have is found all the same.
func TestSlotsWithoutAServerAreAnError(t *testing.T) {
	t.Parallel()
	c := startMoving(t, 0)
	for _, s := range c.Servers {
		s.CLI(t, "CONFIG", "SET", "cluster-require-full-coverage", "no")
		s.CLI(t, "CLUSTER", "DELSLOTS", "4321")
	}
	redistest.Eventually(t, patience, func() bool {
		return c.driver.Do(t.Context(), driver.Command{Words: []string{"GET", c.names[0] + "x"}, Key: c.names[0] + "x"}).Err == nil
	}, "the rest is served")
	names, errs := c.walk(t, fast)
	if len(names) != 3 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "1 of the Cluster's 16384 slots have no server") {
		t.Errorf("found %v, errors %v", names, errs)
	}
}

// Goal: a walk finds every lock of a server that is restarted meanwhile: it then orders its keys anew.
func TestAWalkOverARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always", "--dir", t.TempDir())
	d := connectTo(t, server)
	const locks = 500
	for n := range locks {
		do(t, d, "HSET", "lock:"+strconv.Itoa(n), java(n, 1), "1")
	}
	names, errs := make(map[string]bool), []error(nil)
	for l, err := range inspector(t, d, inspect.Config{Rate: 1_000_000, Step: 10}).Locks(t.Context(), "*") {
		if err != nil {
			errs = append(errs, err)
		}
		if names[l.Name] = true; len(names) == locks/2 {
			server.Restart(t)
		}
	}
	if len(names) != locks && len(errs) == 0 {
		t.Errorf("%d of %d locks were found, and nothing was said", len(names), locks)
	}
	t.Logf("found %d of %d locks, errors %v", len(names), locks, errs)
}

const patience = 20 * time.Second
