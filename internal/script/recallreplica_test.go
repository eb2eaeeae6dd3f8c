package script_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: only a primary may say that an owner has nothing that could be asked for.
func TestAReplicaDoesNotSayThatNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := connectBlindly(t, redis)
	mutex := script.Mutex{Lock: "mutex", Channel: "c", Via: protocol.Plain}
	calls := []script.Call{mutex.Recall("c:1", "a\nb"), script.NewRW("rw", protocol.Plain).Recall("c:1", "a\nb"), permits("p").Recall(permit1, "a\nb")}
	redis.CLI(t, "REPLICAOF", "127.0.0.1", "1")
	for _, call := range calls {
		result, err := script.NewRunner(s, 2*time.Second).Run(context.Background(), call)
		if err == nil {
			err = result.Reply.Err
		}
		refused, code := (*driver.ServerError)(nil), ""
		if errors.As(err, &refused) {
			code = refused.Code()
		}
		if code != "READONLY" {
			t.Errorf("%s answers %+v, %v", call.Script(), result.Reply, err)
		}
	}
}
