package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// Goal: how long a channel waits for its subscription does not depend on how many others
// wait. Method: channels of a thousand slots, at a server that is 10 ms away; then they are
// left, and others come.
func TestManyChannelsOfADistantServerAreHeardSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		all.set("a:1", func(f *fake) { f.trip = 10 * ms })
		var channels []string
		for i := 0; len(channels) < 1000; i++ {
			if name := fmt.Sprint("channel", i); driver.Slot(name) < driver.Slots/2 {
				channels = append(channels, name)
			}
		}
		began := time.Now()
		r := listenAndWait(t, d, channels[:500]...)
		if took := time.Since(began); took > 500*ms {
			t.Errorf("500 channels were acknowledged after %v", took)
		}
		began = time.Now()
		r.Unsubscribe(t.Context(), channels[:500]...)
		r.Subscribe(t.Context(), channels[500:]...)
		r.Await(t, "+"+channels[999], 1)
		if took := time.Since(began); took > 500*ms {
			t.Errorf("500 other channels were acknowledged after %v", took)
		}
		r.Close()
		d.Close()
	})
}

// Goal: many commands of a migrating slot are carried out within the command timeout. Method:
// locks with one tag, half of them on the way to a server that is 10 ms away as well.
func TestManyKeysOfAnOpenSlotAreServedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		tag := keyOf(false)
		for _, address := range []string{"a:1", "c:3"} {
			all.set(address, func(f *fake) { f.trip = 10 * ms })
		}
		all.set("a:1", func(f *fake) {
			f.answer = func(words []string) driver.Reply {
				if strings.HasSuffix(words[1], "1") {
					return driver.Reply{Err: &driver.ServerError{Message: fmt.Sprintf("ASK %d c:3", driver.Slot(tag))}}
				}
				return driver.Reply{Str: "OK"}
			}
		})
		d.Do(t.Context(), command("GET", fmt.Sprintf("{%s}1", tag))) // so that the slot is known to be open
		var commands []driver.Command
		for i := range 1000 {
			commands = append(commands, command("SET", fmt.Sprintf("{%s}%d", tag, i)))
		}
		failed := 0
		for _, reply := range d.Pipeline(t.Context(), commands...) {
			if reply.Err != nil {
				failed++
			}
		}
		if failed > 0 {
			t.Errorf("%d of %d commands failed", failed, len(commands))
		}
		d.Close()
	})
}
