package redlatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// What a test reads on the server itself, past the client.

// raw is a plain connection to a server, to look at what locks leave there.
func raw(t *testing.T, url string) driver.Driver {
	t.Helper()
	var d driver.Driver
	var err error
	if name, ok := strings.CutPrefix(url, "memory://"); ok {
		d, err = memory.Open(t.Context(), memory.Options{Name: name})
	} else {
		d, err = rueidis.Open(t.Context(), rueidis.Options{Address: strings.TrimPrefix(url, "redis://")})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func do(t *testing.T, d driver.Driver, words ...string) driver.Reply {
	t.Helper()
	r := d.Do(t.Context(), driver.Command{Words: words, Key: words[min(1, len(words)-1)]})
	if r.Err != nil {
		t.Fatal(words, r.Err)
	}
	return r
}

// hash writes a hash of one field as "field=value", and "" for none.
func hash(t *testing.T, d driver.Driver, key string) string {
	t.Helper()
	var words []string
	for _, r := range do(t, d, "HGETALL", key).Array {
		words = append(words, r.Str)
	}
	return strings.Join(words, "=")
}

// fields writes a hash as "field=value field=value", in order.
func fields(t *testing.T, d driver.Driver, key string) string {
	t.Helper()
	var pairs []string
	words := do(t, d, "HGETALL", key).Array
	for i := 0; i < len(words); i += 2 {
		pairs = append(pairs, words[i].Str+"="+words[i+1].Str)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

// content writes what is under a key.
func content(t *testing.T, d driver.Driver, key string) string {
	t.Helper()
	read := map[string][]string{"string": {"GET", key}, "list": {"LRANGE", key, "0", "-1"}, "hash": {"HGETALL", key}}
	return fmt.Sprint(do(t, d, read[do(t, d, "TYPE", key).Str]...))
}

func pttl(t *testing.T, d driver.Driver, key string) time.Duration {
	t.Helper()
	return time.Duration(do(t, d, "PTTL", key).Int) * time.Millisecond
}

// messages collects what is published on a channel.
func messages(t *testing.T, d driver.Driver, channel string) <-chan string {
	t.Helper()
	ready, got := make(chan struct{}), make(chan string, 100)
	l, err := d.Listen(t.Context(), driver.Events{
		Subscribed: func(string) { close(ready) },
		Message:    func(_, payload string) { got <- payload },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	if err := l.Subscribe(t.Context(), channel); err != nil {
		t.Fatal(err)
	}
	<-ready
	return got
}

// heard collects the messages on a channel of a server. What it returns ends that, and says what was
// heard.
func heard(t *testing.T, url, channel string) (all func() []string) {
	t.Helper()
	d := raw(t, url)
	got := messages(t, d, channel)
	return func() (payloads []string) {
		do(t, d, "PUBLISH", channel, "end")
		for payload := range got {
			if payload == "end" {
				break
			}
			payloads = append(payloads, payload)
		}
		return payloads
	}
}
