package redlatch_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// When two URLs name one server.

// Goal: a server is known by host and port. Method: ways to write one server's URL.
func TestOneServerByHostAndPortIsOne(t *testing.T) {
	t.Parallel()
	url, ctx := redistest.Start(t).URL(), t.Context()
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "redis://"), ":")
	first := open(t, "redis://LOCALHOST:"+port, sure)
	for _, other := range []string{"redis://localhost:" + port + "/0", "redis://localhost:" + port + "/1", "redis://Localhost:" + port + "/2"} {
		second := open(t, other, sure)
		_, err := redlatch.NewQuorum(first.Mutex("a"), second.Mutex("a"), open(t, "memory://", sure).Mutex("a")).TryLock(ctx)
		var config *redlatch.ConfigError
		if !errors.As(err, &config) {
			t.Errorf("%s as a second member of a quorum: %v", other, err)
		}
		_, err = redlatch.NewMulti(first.Mutex("a"), second.Mutex("a")).TryLock(ctx, redlatch.WithLease(10*time.Millisecond))
		if same := strings.HasSuffix(other, "/0"); same != errors.As(err, &config) {
			t.Errorf("%s as a second member of a multi: %v", other, err)
		}
	}
}

func TestTheIdentityOfAServer(t *testing.T) {
	for _, same := range [][]string{
		{"redis://a", "redis://A:6379", "rediss://user:secret@a:6379/3"},
		{"redis+sentinel://a,b/main", "redis+sentinel://B:26379,a/main", "rediss+sentinel://b,a/main/2"},
		{"redis+cluster://a,b", "rediss+cluster://b,a:6379"},
		{"redis://[FE80::1]", "redis://[fe80::1]:6379"},
	} {
		for _, url := range same {
			if got, want := must(redlatch.Identity(url)), must(redlatch.Identity(same[0])); got != want {
				t.Errorf("%s is %q, and %s is %q", same[0], want, url, got)
			}
		}
	}
	for _, pair := range [][2]string{{"redis://a", "redis://b"}, {"redis://a", "redis://a:6380"}, {"redis+sentinel://a/main", "redis+sentinel://a/Main"}, {"memory://a", "memory://b"}} {
		if must(redlatch.Identity(pair[0])) == must(redlatch.Identity(pair[1])) {
			t.Errorf("%v are one server", pair)
		}
	}
}
