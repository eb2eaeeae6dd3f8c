package multilock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// nowhere is a connection that is compared by its number.
type nowhere struct {
	driver.Driver
	number int
}

// at is a member without a client.
func at(server *Server, slot int, name string) Member {
	return Member{Server: server, Slot: slot, Ref: &lock.Ref{Name: name, Lock: name}}
}

// Goal: all processes take members in one order, by server, database, slot and name. Method: the members
// are given in every order that chance finds.
func TestMembersHaveOneOrder(t *testing.T) {
	t.Parallel()
	a0, a1, b := &Server{Address: "a:1"}, &Server{Address: "a:1", Database: 1}, &Server{Address: "b:1"}
	sorted := []Member{at(a0, 3, "x"), at(a0, 3, "y"), at(a0, 9, "a"), at(a1, 1, "a"), at(b, 0, "a"), at(b, 0, "b")}
	for range 200 {
		given := slices.Clone(sorted)
		rand.Shuffle(len(given), func(i, j int) { given[i], given[j] = given[j], given[i] })
		set, err := Locks("NewMulti", given)
		if err != nil || !slices.Equal(set.Members, sorted) {
			t.Fatalf("%v: %s", err, set.Name())
		}
		if name := set.Name(); name != "x+y+a+a+a+b" {
			t.Fatal("the name is", name)
		}
	}
}

// Members that nothing tells apart keep the order in which they were given.
func TestServersWithoutANameKeepTheirOrder(t *testing.T) {
	t.Parallel()
	servers := []*Server{{Driver: nowhere{number: 1}}, {Driver: nowhere{number: 2}}, {Driver: nowhere{number: 3}}}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		var given []Member
		for _, i := range order {
			given = append(given, at(servers[i], 7, "job"))
		}
		set, err := Servers("NewQuorum", slices.Clone(given))
		if err != nil || !slices.Equal(set.Members, given) {
			t.Errorf("%v is taken in another order, %v", order, err)
		}
		if name := set.CommonName(); name != "job" {
			t.Error("the common name is", name)
		}
	}
}

// Goal: any two majorities have a server in common, and no more servers are needed than that takes.
func TestMajoritiesOverlap(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 12; n++ {
		need := Set{Members: make([]Member, n)}.majority()
		if 2*need <= n || 2*(need-1) > n {
			t.Errorf("of %d servers %d are needed", n, need)
		}
	}
}

func TestWhatTwoMembersShare(t *testing.T) {
	t.Parallel()
	one, two := nowhere{number: 1}, nowhere{number: 2}
	server := &Server{Address: "a:1", Driver: one, Locks: new(lock.Manager)}
	for name, c := range map[string]struct {
		a, b        Member
		server, key bool
		together    bool
	}{
		"two names of one client":      {at(server, 1, "x"), at(server, 2, "y"), true, false, true},
		"one name of one client":       {at(server, 1, "x"), at(server, 1, "x"), true, true, true},
		"two clients, one address":     {at(server, 1, "x"), at(&Server{Address: "a:1", Driver: two}, 1, "x"), true, true, false},
		"two clients, one driver":      {at(server, 1, "x"), at(&Server{Address: "b:1", Driver: one}, 1, "x"), true, true, false},
		"one driver, a known database": {at(server, 1, "x"), at(&Server{Driver: one, Database: 1}, 1, "x"), true, true, false},
		"two databases of one address": {at(server, 1, "x"), at(&Server{Address: "a:1", Database: 1, Driver: two}, 1, "x"), true, false, false},
		"two servers":                  {at(server, 1, "x"), at(&Server{Address: "b:1", Driver: two}, 1, "x"), false, false, false},
		"two servers without names":    {at(&Server{Driver: one}, 1, "x"), at(&Server{Driver: two}, 1, "x"), false, false, false},
		"drivers that do not compare":  {at(&Server{Driver: slow{}}, 1, "x"), at(&Server{Driver: slow{}}, 1, "x"), false, false, false},
	} {
		for _, pair := range [][2]Member{{c.a, c.b}, {c.b, c.a}} {
			if got := pair[0].sameServer(pair[1]); got != c.server {
				t.Errorf("%s: one server is %v", name, got)
			}
			if got := pair[0].sameKey(pair[1]); got != c.key {
				t.Errorf("%s: one key is %v", name, got)
			}
			if got := pair[0].together(pair[1]); got != c.together {
				t.Errorf("%s: together is %v", name, got)
			}
			if _, err := Locks("NewMulti", pair[:]); (err != nil) != c.key {
				t.Errorf("%s: a Multi of them: %v", name, err)
			}
			if _, err := Servers("NewQuorum", pair[:]); (err != nil) != c.server {
				t.Errorf("%s: a Quorum of them: %v", name, err)
			}
		}
	}
}

// Goal: a large Multi is made in little time. Comparing each two of these takes more than ten seconds.
func TestManyMembersAreComparedByName(t *testing.T) {
	t.Parallel()
	server := &Server{Address: "a:1"}
	members := make([]Member, 40000)
	for i := range members {
		members[i] = at(server, 0, strconv.Itoa(i))
	}
	began := time.Now()
	if _, err := Locks("NewMulti", members); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// slow is a driver that cannot be compared.
type slow struct {
	driver.Driver
	_ []int
}

// The error of a name counts before that of the whole set.
func TestTheFirstErrorOfASetCounts(t *testing.T) {
	t.Parallel()
	bad := at(&Server{Address: "a:1"}, 0, "x")
	bad.Ref.Err = errors.New("name")
	if _, err := Servers("NewQuorum", []Member{bad, bad}); err != bad.Ref.Err {
		t.Errorf("got %v, want %v", err, bad.Ref.Err)
	}
	_, err := Locks("NewMulti", nil)
	if config, ok := errors.AsType[*lockerr.ConfigError](err); !ok || config.Field != "NewMulti" || !strings.Contains(config.Reason, "no lock") {
		t.Errorf("an empty set: %v", err)
	}
	if _, err := LockMajority(context.Background(), Set{}, nil); err == nil {
		t.Error("an empty Quorum was taken")
	}
}
