package clients_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// When two URLs name one server.

// Goal: a server is known by host and port. Method: ways to write one server's URL.
func TestOneServerByHostAndPortIsOne(t *testing.T) {
	t.Parallel()
	url := redistest.Start(t).URL()
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "redis://"), ":")
	first := fixture.Open(t, "redis://LOCALHOST:"+port, stage.Sure)
	for _, other := range []string{"redis://localhost:" + port + "/0", "redis://localhost:" + port + "/1", "redis://Localhost:" + port + "/2"} {
		second := fixture.Open(t, other, stage.Sure)
		_, err := redlatch.NewQuorum(first.Mutex("a"), second.Mutex("a"), fixture.Open(t, "memory://", stage.Sure).Mutex("a"))
		var config *redlatch.ConfigError
		if !errors.As(err, &config) {
			t.Errorf("%s as a second member of a quorum: %v", other, err)
		}
		_, err = redlatch.NewMulti(first.Mutex("a"), second.Mutex("a"))
		if same := strings.HasSuffix(other, "/0"); same != errors.As(err, &config) {
			t.Errorf("%s as a second member of a multi: %v", other, err)
		}
	}
}
