package cluster_test

import (
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/drivertest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestPassesTheSuite(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t *testing.T) driver.Driver {
		return open(t, redistest.SharedCluster(t).Addrs()...)
	})
}
