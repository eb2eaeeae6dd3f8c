package redistest_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestReplicasCopyTheirPrimary(t *testing.T) {
	t.Parallel()
	r := redistest.StartReplicas(t, 2)
	r.Primary.CLI(t, "SET", "key", "value")
	for _, replica := range r.Replicas {
		redistest.Eventually(t, 10*time.Second, func() bool { return replica.CLI(t, "GET", "key") == "value" }, "the copy is there")
	}
	r.Replicas[0].Restart(t)
	r.AwaitSync(t)
	if got := r.Replicas[0].CLI(t, "GET", "key"); got != "value" {
		t.Errorf("the restarted replica has %v", got)
	}

	r.Primary.Front.Blackhole(true) // a partition
	r.Primary.CLI(t, "SET", "key", "other")
	for _, replica := range r.Replicas {
		if got := replica.CLI(t, "GET", "key"); got != "value" {
			t.Errorf("a replica behind the partition has %v", got)
		}
	}
	r.Primary.Front.Blackhole(false)
	for _, replica := range r.Replicas {
		redistest.Eventually(t, 20*time.Second, func() bool { return replica.CLI(t, "GET", "key") == "other" }, "the copy follows")
	}
}

func TestLongSentinelsReplaceADeadPrimary(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	first := s.Primary(t)
	if first != s.Members[0] {
		t.Error("another one than at the start is the primary")
	}
	first.Kill()
	s.Sentinels[0].Kill()
	s.Sentinels[0].Restart(t) // it has not forgotten anything
	second := s.AwaitFailover(t, first)
	second.CLI(t, "SET", "key", "value")
	first.Restart(t)
	redistest.Eventually(t, 30*time.Second, func() bool {
		value, _ := first.Try("GET", "key") // the sentinels that make it a replica cut its connections
		return value == "value"
	}, "the old primary has become a replica")
}
