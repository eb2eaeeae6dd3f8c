package sentinel_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/drivertest"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/driver/sentinel"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestPassesTheSuite(t *testing.T) {
	t.Parallel()
	server, watcher := redistest.Shared(t), redistest.StartSentinel(t)
	watcher.Watch(t, "locks", server.Addr(), 1)
	drivertest.Run(t, func(t *testing.T) driver.Driver {
		return open(t, sentinel.Options{Sentinels: []string{watcher.Addr()}, Master: "locks", Node: rueidis.Options{CommandTimeout: 20 * time.Second}})
	})
}
