package rueidis_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/drivertest"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestPassesTheSuite(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t *testing.T) driver.Driver {
		return open(t, rueidis.Options{Address: redistest.Shared(t).Addr(), CommandTimeout: 20 * time.Second})
	})
}
