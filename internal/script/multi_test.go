package script_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: several mutexes are taken together or not at all, and a repetition changes nothing
// more. Method: three locks, the states they are in, and the states after the call.

var allTable = []struct {
	what  string
	given [3]state
	reply string // as the script's header writes it
	at    int    // the lock that is in the way
	then  [3]state
}{
	{
		"all free", [3]state{}, "1", 0,
		[3]state{held(me, 1, lease), held(me, 1, lease), held(me, 1, lease)},
	},
	{
		"one taken by a request whose reply was lost", [3]state{{}, held(me, 1, old), {}}, "1", 0,
		[3]state{held(me, 1, lease), held(me, 1, lease), held(me, 1, lease)},
	},
	{
		"the first held", [3]state{held(other, 2, old), {}, {}}, "{index, ttl, holder}", 0,
		[3]state{held(other, 2, old), {ttl: missing}, {ttl: missing}},
	},
	{
		"the last two held", [3]state{{}, held(other, 1, old), held("x:1", 1, none)}, "{index, ttl, holder}", 1,
		[3]state{{ttl: missing}, held(other, 1, old), held("x:1", 1, none)},
	},
	{
		"the last held", [3]state{{}, {}, held(other, 1, old)}, "{index, ttl, holder}", 2,
		[3]state{{ttl: missing}, {ttl: missing}, held(other, 1, old)},
	},
	{
		"a string", [3]state{{}, {}, {"=x", old}}, "error WRONGTYPE", 0,
		[3]state{{ttl: missing}, {ttl: missing}, {"=x", old}},
	},
	{
		"a hash of several fields", [3]state{{}, {"a=1 b=2", old}, {}}, "error NOTLOCK", 0,
		[3]state{{ttl: missing}, {"a=1 b=2", old}, {ttl: missing}},
	},
	{
		"a hash that is no lock", [3]state{{}, {"hits=x", old}, {}}, "error NOTLOCK", 0,
		[3]state{{ttl: missing}, {"hits=x", old}, {ttl: missing}},
	},
}

func TestSeveralMutexesAreTakenTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, r := range allTable {
			t.Run(r.what, func(t *testing.T) {
				keys := make([]string, len(r.given))
				for i, given := range r.given {
					keys[i] = redistest.Name(t)
					s.put(t, keys[i], given)
				}
				call := script.AcquireAll(keys, []string{me, me, me}, lease)
				for range 2 { // whoever does not hear the reply sends the call again
					reply := s.run(t, call)
					got, at, err := script.ReadAcquiredAll(reply, len(keys))
					text := label(call, reply)
					if len(reply.Array) == 3 {
						text = "{index, ttl, holder}"
					}
					if text != r.reply || got.Granted != (r.reply == "1") || at != r.at || (err != nil) != (reply.Err != nil) {
						t.Errorf("the reply is %s, read as %+v at %d, %v", text, got, at, err)
					}
					if len(reply.Array) == 3 && (got.Holder != other || got.TTL > old || got.TTL < old-slack) {
						t.Errorf("it is held by %q for %v", got.Holder, got.TTL)
					}
					for i, key := range keys {
						if left := s.state(t, key); !left.is(r.then[i]) {
							t.Errorf("lock %d is left as %v, want %v", i, left, r.then[i])
						}
					}
				}
			})
		}
	})
}

// Goal: each member has its own owner. Method: the same table with another owner for each lock,
// so that an owner that is looked up in the wrong place is a stranger.
func TestEachMemberIsLookedUpByItsOwnOwner(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		owners := []string{me, me + "1", me + "2"}
		for at := range owners {
			var keys []string
			for i := range owners {
				keys = append(keys, redistest.Name(t))
				if i == at {
					s.put(t, keys[i], held(owners[i], 1, old))
				}
			}
			if reply := s.run(t, script.AcquireAll(keys, owners, lease)); reply.Int != 1 {
				t.Errorf("lock %d was held by its own owner before: %+v", at, reply)
			}
			for i, key := range keys {
				if left, want := s.state(t, key), held(owners[i], 1, lease); !left.is(want) {
					t.Errorf("lock %d is left as %v, want %v", i, left, want)
				}
				s.must(t, "DEL", key)
			}
			s.put(t, keys[at], held(owners[(at+1)%3], 1, old))
			if reply := s.run(t, script.AcquireAll(keys, owners, lease)); len(reply.Array) != 3 {
				t.Errorf("lock %d was held by the owner of another: %+v", at, reply)
			}
		}
	})
}
