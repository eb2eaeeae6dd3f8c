package fence_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: no two keys share a token, and every token lies in the slot of its key. A key for
// which this cannot be is refused.
// Method: all keys of up to six characters in which braces make a difference.
func TestEveryKeyHasATokenOfItsOwnInItsSlot(t *testing.T) {
	t.Parallel()
	tokens := make(map[string]string)
	for _, key := range textsOf("{}x:", 6) {
		seen := &spy{Driver: passing{}}
		guard := fence.Redis{Driver: seen}
		must(t, guard.Pass(t.Context(), 1, key))
		token := seen.keys[0]
		if other, taken := tokens[token]; taken || len(seen.keys) != 1 {
			t.Errorf("the token of %q is that of %q; the keys are %q", key, other, seen.keys)
		}
		tokens[token] = key
		err := guard.Set(t.Context(), 1, key, "v")
		_, tag, _ := strings.Cut(key, "{")
		tag, _, tagged := strings.Cut(tag, "}")
		plain := key != "" && !strings.Contains(key, "}")
		switch {
		case err != nil && (plain || tagged && tag != ""):
			t.Errorf("%q: %v", key, err)
		case err != nil && len(seen.keys) > 1:
			t.Errorf("%q is refused, and sent: %v", key, err)
		case err == nil && (seen.keys[1] != token || seen.keys[2] != key || driver.Slot(token) != driver.Slot(key)):
			t.Errorf("the keys are %q, the token of %q is %q", seen.keys[1:], key, token)
		}
	}
	if err := (fence.Redis{Driver: passing{}}).Set(t.Context(), 1, "x}", "v"); err == nil {
		t.Error("a key without a tag was accepted")
	}
}

// textsOf returns all texts of up to this length of some characters.
func textsOf(characters string, length int) []string {
	texts := []string{""}
	for from := 0; length > 0; length-- {
		until := len(texts)
		for _, text := range texts[from:until] {
			for _, c := range characters {
				texts = append(texts, text+string(c))
			}
		}
		from = until
	}
	return texts
}

// passing is a server on which everything passes.
type passing struct{ driver.Driver }

func (passing) Do(context.Context, driver.Command) driver.Reply {
	return driver.Reply{Array: []driver.Reply{{Int: 1}, {IsNil: true}}}
}

func TestRedisGuardsKeysWithOddBraces(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		x := redistest.Name(t)
		for i, key := range []string{x, "{" + x + "}", "a{" + x + "}", "{" + x, x + "}"} {
			must(t, guard.Pass(t.Context(), int64(100-i), key)) // stale if it met another one
		}
		must(t, guard.Set(t.Context(), 99, "{"+x+"}", "v"))
		fencetest.WantStale(t, guard.Set(t.Context(), 98, "{"+x+"}", "w"), 98, 99)
	})
}

// mostArguments is the documented limit of Redis.Do.
const mostArguments = 4000

func TestRedisPassesNoCommandThatIsTooLong(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		key := redistest.Name(t)
		items := slices.Repeat([]string{"x"}, mostArguments+1)
		if _, err := guard.Do(t.Context(), 34, "RPUSH", key, items...); err == nil {
			t.Error("a command that is too long was run")
		}
		// It has not passed: the older holder goes on.
		reply, err := guard.Do(t.Context(), 33, "RPUSH", key, items[1:]...)
		if err != nil || reply.Int != mostArguments {
			t.Errorf("the longest command: %d, %v", reply.Int, err)
		}
		if _, err := guard.Do(t.Context(), 34, "RPUSH", key, slices.Repeat(items, 9)...); err == nil {
			t.Error("a command that is far too long was run")
		}
		must(t, guard.Pass(t.Context(), 33, key))
	})
}

// Goal: a slot that moves keeps nobody from passing, and guards a key whose token has
// moved already.
func TestRedisPassesWhileItsSlotMoves(t *testing.T) {
	t.Parallel()
	servers := redistest.StartCluster(t, 2, 0)
	d, err := cluster.Open(t.Context(), cluster.Options{
		Addresses: servers.Addrs(),
		Connect: func(ctx context.Context, address string) (driver.Driver, error) {
			return rueidis.Open(ctx, rueidis.Options{Address: address})
		},
	})
	must(t, err)
	defer d.Close()
	guard := fence.Redis{Driver: d}
	resource := redistest.Name(t)
	must(t, guard.Pass(t.Context(), 34, resource))
	must(t, guard.Set(t.Context(), 34, "{"+resource+"}written", "v"))
	from := servers.Master(t, resource)
	to := servers.Servers[0]
	if to == from {
		to = servers.Servers[1]
	}
	servers.MoveSlot(t, resource, to, func() {
		for _, token := range []int64{34, 35} {
			if err := guard.Pass(t.Context(), token, resource); err != nil {
				t.Errorf("a known resource in an open slot: %v", err)
			}
			if err := guard.Pass(t.Context(), token, "{"+resource+"}new"); err != nil {
				t.Errorf("a new resource in an open slot: %v", err)
			}
		}
		// What remains: Do needs the key and its token on one server.
		var refused *driver.ServerError
		err := guard.Set(t.Context(), 36, resource, "v")
		if !errors.As(err, &refused) || refused.Code() != "TRYAGAIN" {
			t.Errorf("a new key in an open slot: %v, want TRYAGAIN", err)
		}
	})
	for _, known := range []string{resource, "{" + resource + "}new"} {
		fencetest.WantStale(t, guard.Pass(t.Context(), 33, known), 33, 35)
	}
	fencetest.WantStale(t, guard.Set(t.Context(), 33, "{"+resource+"}written", "w"), 33, 34)
	must(t, guard.Set(t.Context(), 36, resource, "v"))
}
