package rueidis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
)

func TestOpenNamesTheImpossibleOption(t *testing.T) {
	t.Parallel()
	for option, options := range map[string]rueidis.Options{
		"Address":        {},
		"DB":             {Address: "127.0.0.1:1", DB: -1},
		"CommandTimeout": {Address: "127.0.0.1:1", CommandTimeout: -time.Second},
	} {
		d, err := rueidis.Open(t.Context(), options)
		if wrong, ok := errors.AsType[*driver.OptionError](err); !ok || wrong.Option != option {
			t.Errorf("%+v: error %v, want an OptionError for %s", options, err, option)
		}
		if err == nil {
			d.Close()
		}
	}
}
