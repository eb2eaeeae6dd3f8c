package wholes_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A lease that is too short for its servers is tried for as long as the caller waits.
func TestLongAMultiBeginsAgainAsOftenAsItMust(t *testing.T) {
	t.Parallel()
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		locks, leave := stage.FarLocks(ctx, 2)
		defer leave()
		limited, cancel := context.WithTimeout(ctx, 10*time.Minute)
		defer cancel()
		_, err := check.Must(redlatch.NewMulti(locks...)).Lock(limited, redlatch.WithMaxHold(310*time.Millisecond))
		check.Is(t, "Lock", err, context.DeadlineExceeded)
	})
}

// The caller leaves while a server refuses a member: the error says which.
func TestAMemberThatIsRefusedAtTheEndIsNamed(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 2, stage.Sure)
		limited, cancel := context.WithCancel(ctx)
		all[1].Set(func(commands []driver.Command, _ stage.Sender) []driver.Reply {
			cancel()
			time.Sleep(time.Millisecond)
			return stage.FailAll(commands, &driver.ServerError{Message: "ERR out of order"})
		})
		_, err := check.Must(redlatch.NewMulti(all[0].Client.Mutex("a{x}"), all[1].Client.Mutex("b{x}"))).Lock(limited)
		if _, ok := errors.AsType[*driver.ServerError](err); !ok || !strings.Contains(err.Error(), `lock "b{x}"`) {
			t.Errorf("Lock is %v, want a ServerError that names the member", err)
		}
	})
}
