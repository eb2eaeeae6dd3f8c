package script

import (
	"time"

	"github.com/redlatch/redlatch/driver"
)

var multiAcquireScript = load("multi_acquire", "shape", "note", "exclusive")

// AcquireAll takes each of several locks once, or none of them: the first lock for the first
// owner, and so on. The owners are fresh. In a cluster all locks lie in one slot.
func AcquireAll(locks, owners []string, lease time.Duration) Call {
	words := make([]string, 0, 2*len(locks)+1)
	words = append(words, locks...)
	words = append(words, millis(lease))
	words = append(words, owners...)
	return multiAcquireScript.call(len(locks), words...)
}

// ReadAcquiredAll reads the reply of AcquireAll for n locks. If they were not granted, blocked
// is the index of the first lock that another owner holds, and all describes that hold.
func ReadAcquiredAll(r driver.Reply, n int) (all Acquired, blocked int, err error) {
	switch {
	case number(r) == 1:
		return Acquired{Granted: true}, 0, nil
	case r.Err != nil || len(r.Array) < 3 || r.Array[0].Int < 1 || int(r.Array[0].Int) > n:
		return Acquired{}, 0, unexpected(multiAcquireScript, r)
	}
	all, err = ReadAcquired(driver.Reply{Array: r.Array[1:]})
	return all, int(r.Array[0].Int) - 1, err
}
