package histories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/robustness/internal/mutation"
)

// mutated is the way to a server, which may have a broken script.
type mutated struct {
	driver.Bounded
	mutation mutation.Mutation
}

// Pipeline says that scripts are unknown, so that they come with their source, and breaks it.
func (d mutated) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if d.mutation.Script == "" {
		return d.Bounded.Pipeline(ctx, commands...)
	}
	commands = slices.Clone(commands)
	for i, c := range commands {
		switch c.Words[0] {
		case "EVALSHA":
			commands[i] = driver.Command{Words: []string{"EVALSHA", strings.Repeat("0", 40), "0"}, Key: c.Key}
		case "EVAL":
			commands[i].Words = slices.Clone(c.Words)
			commands[i].Words[1] = d.mutation.Of(c.Words[1])
		}
	}
	return d.Bounded.Pipeline(ctx, commands...)
}

// often is true in three of four cases.
const often = "redis.call('TIME')[2] % 4 > 0"

// Goal: recorder and checker together see a server that answers wrongly. Method: a broken script, and the
// traffic that finds nothing on a server with the shipped one, without faults.
func TestABrokenServerIsSeen(t *testing.T) {
	for _, c := range []struct {
		what, kind string
		mutation.Mutation
	}{
		{"a free mutex is refused", "mutex", mutation.In("acquire", "if not found and count", "if not found and "+often+" then\n  return {100, 'x:1'}\nend\nif not found and count")},
		{"a free read-write lock is refused", "read-write lock", mutation.In("rw_acquire", "-- A reader without", "if not mode and "+often+" then\n  return {100, 'x:1'}\nend\n-- A")},
		{"an available permit is refused", "permits", mutation.In("permit_acquire", "not score and left < 1", "not score and (left < 1 or "+often+")")},
		{"available permits are refused", "permits that nobody owns", mutation.In("semaphore_acquire", "> (found or 0)", "> (found or 0) or "+often)},
		{"a drain leaves a permit", "permits that nobody owns", mutation.In("semaphore_drain", "write(0, found)\nreturn found", "write(1, found - 1)\nreturn found - 1")},
		{"more is drained than there is", "permits that nobody owns", mutation.In("semaphore_drain", "found)\nreturn found", "found + 1)\nreturn found + 1")},
		{"an extra holder is shown", "mutex", mutation.In("status", "return reply", "reply[#reply + 1] = 'x:1'\nreply[#reply + 1] = '1'\nreply[#reply + 1] = {}\nreturn reply")},
		{"a holder is hidden", "mutex", mutation.In("status", "if type(found) ==", "found = "+often+" and found\nif type(found) ==")},
		{"a mutex has two holders", "mutex", mutation.In("acquire", "type(found) == 'table'", "false")},
		{"a reader comes beside a writer", "read-write lock", mutation.In("rw_acquire", "if holder then", "if holder == '' then")},
		{"a token is given twice", "mutex with tokens", mutation.In("acquire", "redis.pcall('INCR', counter)", "tonumber(redis.call('GET', counter) or 1)")},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == c.kind })]
			k.broken, k.calm = c.Mutation, true
			f := begin(t, k, rand.New(rand.NewPCG(1, 1)))
			// While a machine is busy, most operations overlap, and each may explain what the others saw.
			patience := time.Now().Add(4 * time.Minute)
			for round := 0; time.Now().Before(patience); round++ {
				name := fmt.Sprint(redistest.Name(t), "-", round)
				f.contend(name)
				v := Check(f.recorder.Operations(), time.Minute)
				f.recorder = NewRecorder()
				if slices.Contains(v.Wrong, name) {
					t.Logf("after %d rounds:\n%s", round+1, v.Story)
					return
				}
			}
			t.Error("was not seen")
		})
	}
}
