package clients_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Who holds it: from an owner to a process (Config.Name).

// Goal: the owner that stands in Redis leads to a process, on every kind of deployment. Method:
// the client's id is looked for among the connections of the server that has the lock.
func TestLongAnOwnerLeadsToAProcessInClientList(t *testing.T) {
	t.Parallel()
	single, watched, cluster := redistest.Shared(t), redistest.StartSentinels(t).Settle(t), redistest.StartCluster(t, 3, 0)
	name := redistest.Name(t)
	for kind, at := range map[string]struct {
		url    string
		server func() *redistest.Server
	}{
		"single":   {single.URL(), func() *redistest.Server { return single }},
		"sentinel": {"redis+sentinel://" + strings.Join(watched.Addrs(), ",") + "/" + watched.Name, func() *redistest.Server { return watched.Primary(t).Server }},
		"cluster":  {fixture.ClusterURL(cluster), func() *redistest.Server { return cluster.Master(t, name) }},
	} {
		c := fixture.Open(t, at.url, redlatch.Config{Name: "billing@web-3:4711"})
		h := check.Must(c.Mutex(name).Lock(t.Context()))
		client, _, _ := protocol.ParseOwner(h.Owner())
		list := at.server().CLI(t, "CLIENT", "LIST").(string)
		if want := fmt.Sprintf(" name=redlatch:%s:billing@web-3:4711 ", client); !strings.Contains(list, want) {
			t.Errorf("%s: no connection has%s:\n%s", kind, want, list)
		}
	}
}

func TestTheDefaultNameIsTheProcess(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		a, b := fixture.Open(t, url, redlatch.Config{}), fixture.Open(t, url, redlatch.Config{})
		m := a.Mutex(redistest.Name(t))
		_ = check.Must(m.Lock(t.Context()))
		seen := check.Must(b.Mutex(m.Name()).Status(t.Context())).Holders[0].Name
		if program, _, _ := strings.Cut(seen, "@"); program != "clients.test" || !strings.Contains(seen, ":") {
			t.Errorf("the holder is %q, want clients.test@host:process", seen)
		}
	})
}

// listing counts how often the connections are listed.
type listing struct {
	driver.Driver
	lists atomic.Int64
}

func (d *listing) Do(ctx context.Context, command driver.Command) driver.Reply {
	if command.Words[0] == "CLIENT" {
		d.lists.Add(1)
	}
	return d.Driver.Do(ctx, command)
}

// stranger holds a lock as a client of another process does: its connection has a name.
func stranger(t *testing.T, server *redistest.Server, lock, name string) (owner string) {
	t.Helper()
	const id = "00000000-0000-4000-8000-0000000000aa"
	d := check.Must(rueidis.Open(t.Context(), rueidis.Options{Address: server.Addr(), ClientName: protocol.ConnectionName(id, name)}))
	t.Cleanup(d.Close)
	fixture.Do(t, d, "HSET", lock, id+":7", "1")
	fixture.Do(t, d, "PEXPIRE", lock, "60000")
	return id + ":7"
}

func TestStatusAndConflictsNameTheProcessOfTheHolder(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	owner := stranger(t, server, "job", "billing@web-3:4711")
	d := &listing{Driver: fixture.Raw(t, server.URL())}
	c := fixture.OpenOn(t, d)
	for kind, l := range map[string]interface {
		redlatch.Lock
		Status(context.Context) (redlatch.Status, error)
	}{"mutex": c.Mutex("job"), "fair": c.FairMutex("job")} {
		if got := check.Must(l.Status(t.Context())).Holders; len(got) != 1 || got[0].Owner != owner || got[0].Name != "billing@web-3:4711" {
			t.Errorf("%s: the holders are %+v", kind, got)
		}
		_, err := l.TryLock(t.Context())
		if want := "held by " + owner + " (billing@web-3:4711)"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: TryLock is %v, want one that says %q", kind, err, want)
		}
	}
	// The name is known by now, and what is known is not asked for.
	if n := d.lists.Load(); n != 1 {
		t.Errorf("the connections were listed %d times", n)
	}
}

func TestNamesOfAllWhoHoldAndWait(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		first, second := fixture.Open(t, url, redlatch.Config{Name: "first"}), fixture.Open(t, url, redlatch.Config{Name: "second"})
		m := first.FairMutex(redistest.Name(t))
		_ = check.Must(m.Lock(t.Context()))
		ctx, leave := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() { _, _ = second.FairMutex(m.Name()).Lock(ctx) }) // it is cancelled
		redistest.Eventually(t, 10*time.Second, func() bool { return len(check.Must(m.Status(t.Context())).Queue) == 1 }, "the second waits")
		if s := check.Must(m.Status(t.Context())); s.Holders[0].Name != "first" || s.Queue[0].Name != "second" {
			t.Errorf("the status is %+v", s)
		}
		leave()
		waiting.Wait()
	})
}

// Goal: a server that does not tell costs nothing but the name. It notes each refusal, so there is
// one only.
func TestAServerThatDoesNotListConnectionsCostsTheNameAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	owner := stranger(t, server, "job", "billing")
	server.CLI(t, "ACL", "SETUSER", "shy", "on", ">x", "~*", "&*", "+@all", "-client|list")
	c := fixture.Open(t, "redis://shy:x@"+server.Addr(), redlatch.Config{})
	for i := range 3 {
		if got := check.Must(c.Mutex("job").Status(t.Context())).Holders; len(got) != 1 || got[0].Owner != owner || got[0].Name != "" {
			t.Errorf("the holders are %+v", got)
		}
		server.CLI(t, "DEL", "job")
		owner = fmt.Sprintf("00000000-0000-4000-8000-0000000000b%d:7", i)
		server.CLI(t, "HSET", "job", owner, "1")
	}
	if refused, _ := server.CLI(t, "ACL", "LOG").([]any); len(refused) != 1 || !strings.Contains(fmt.Sprint(refused), "count 1 ") {
		t.Errorf("the server noted %v", refused)
	}
}

// A client that is not there is not looked for each time.
func TestAHolderWithoutAConnectionIsLookedForOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "HSET", "job", "00000000-0000-4000-8000-0000000000ab:7", "1")
	d := &listing{Driver: fixture.Raw(t, server.URL())}
	c := fixture.OpenOn(t, d)
	for range 3 {
		if s := check.Must(c.Mutex("job").Status(t.Context())); !s.Locked || s.Holders[0].Name != "" {
			t.Errorf("the status is %+v", s)
		}
	}
	if n := d.lists.Load(); n != 1 {
		t.Errorf("the connections were listed %d times", n)
	}
}

// Goal: the connections are listed once for a question about many locks, whoever holds them. Method: three
// hundred locks of as many clients, of which one is there, by goroutines and one after the other.
func TestManyUnknownHoldersAreLookedForOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for i := range 299 {
		server.CLI(t, "HSET", fmt.Sprint("job", i), fmt.Sprintf("00000000-0000-4000-8000-%012d:7", i), "1")
	}
	stranger(t, server, "job299", "billing")
	d := &listing{Driver: fixture.Raw(t, server.URL())}
	c := fixture.OpenOn(t, d)
	var all sync.WaitGroup
	for i := range 300 {
		ask := func() {
			s := check.Must(c.Mutex(fmt.Sprint("job", i)).Status(t.Context()))
			if name := s.Holders[0].Name; (i == 299) != (name == "billing") {
				t.Errorf("the holder of lock %d is %q", i, name)
			}
		}
		if i%2 == 0 {
			ask()
		} else {
			all.Go(ask)
		}
	}
	all.Wait()
	if n := d.lists.Load(); n > 2 { // a busy machine may take longer than a list is good for
		t.Errorf("the connections were listed %d times", n)
	}
}
