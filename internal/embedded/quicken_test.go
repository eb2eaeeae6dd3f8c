package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/drivertest"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/protocol"
)

func quick(t *testing.T) driver.Driver {
	t.Helper()
	d, err := memory.Open(t.Context(), memory.Options{Name: t.Name(), CommandTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	embedded.Quicken(d.Miniredis())
	return d
}

// Goal: a quickened server is trusted as the plain one is. Method: the same suite.
func TestAQuickenedServerPassesTheSuite(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, quick)
}

// Goal: a script is known from its first run until the server forgets it. Method: by its digest,
// before and after; an error and an array as well.
func TestAQuickenedServerKnowsItsScripts(t *testing.T) {
	t.Parallel()
	d := quick(t)
	do := func(words ...string) driver.Reply { return d.Do(t.Context(), driver.Command{Words: words}) }
	const text = "if ARGV[1] == 'fail' then return redis.call('HGET', KEYS[1], 'x') end redis.call('SET', KEYS[1], ARGV[1]) return {1, ARGV[1], false}"
	digest := protocol.Digest(text)
	if r := do("EVALSHA", digest, "1", "key", "a"); r.Err == nil || !strings.HasPrefix(r.Err.Error(), "NOSCRIPT") {
		t.Errorf("an unknown script: %+v", r)
	}
	for _, words := range [][]string{{"EVAL", text, "1", "key", "b"}, {"EVALSHA", digest, "1", "key", "c"}} {
		want := words[4]
		if r := do(words...); r.Err != nil || len(r.Array) != 3 || r.Array[0].Int != 1 || r.Array[1].Str != want || !r.Array[2].IsNil {
			t.Errorf("%s: %+v", words[0], r)
		}
		if r := do("GET", "key"); r.Str != want {
			t.Errorf("%s has written %+v", words[0], r)
		}
	}
	if r := do("EVALSHA", digest, "1", "key", "fail"); r.Err == nil || !strings.Contains(r.Err.Error(), "WRONGTYPE") {
		t.Errorf("a script that fails: %+v", r)
	}
	do("SCRIPT", "FLUSH")
	if r := do("EVALSHA", digest, "1", "key", "a"); r.Err == nil || !strings.HasPrefix(r.Err.Error(), "NOSCRIPT") {
		t.Errorf("a forgotten script: %+v", r)
	}
}
