package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
)

var errOpened = errors.New("opened")

func opened(context.Context, string, time.Duration) (driver.Driver, error) { return nil, errOpened }

func TestRegisteredSchemesAreFound(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			scheme := fmt.Sprint("found", i)
			driver.Register(scheme, opened)
			open := driver.Registered(scheme)
			if open == nil {
				t.Errorf("%s is not registered", scheme)
				return
			}
			if _, err := open(t.Context(), "", 0); !errors.Is(err, errOpened) {
				t.Errorf("%s is opened by another function: %v", scheme, err)
			}
		})
	}
	all.Wait()
	if driver.Registered("unknown") != nil {
		t.Error("a scheme is registered that nobody has registered")
	}
}

func TestRegisterRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	driver.Register("once", opened)
	for _, c := range []struct {
		scheme string
		open   driver.Opener
		want   string
	}{
		{"once", opened, "twice"},
		{"nil", nil, "without a function"},
		{"", opened, "empty"},
		{"Upper", opened, "lower case"},
		{"redis", opened, "own"},
		{"rediss+cluster", opened, "own"},
		{"my/own", opened, "no URL"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("Register(%q) ends with %q, want a panic that says %q", c.scheme, got, c.want)
				}
			}()
			driver.Register(c.scheme, c.open)
		}()
	}
	if driver.Registered("nil") != nil || driver.Registered("Upper") != nil {
		t.Error("what was refused is registered")
	}
}
