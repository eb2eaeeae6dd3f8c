package inspect_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
)

func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for field, cfg := range map[string]inspect.Config{
		"Rate": {Rate: -1}, "Step": {Step: 9}, "CommandTimeout": {CommandTimeout: time.Microsecond},
	} {
		_, err := inspect.New(&slowServer{}, cfg)
		if wrong, ok := errors.AsType[*redlatch.ConfigError](err); !ok || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	_, err := inspect.New(nil, inspect.Config{})
	if wrong, ok := errors.AsType[*redlatch.ConfigError](err); !ok || wrong.Field != "driver" {
		t.Errorf("no driver: %v", err)
	}
}
