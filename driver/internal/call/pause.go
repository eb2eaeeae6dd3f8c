package call

import (
	"time"

	"github.com/redlatch/redlatch/internal/pause"
)

// The pause between two attempts to connect doubles from the first to the last.
const (
	FirstPause = 10 * time.Millisecond
	LastPause  = time.Second
)

// Backoff makes these pauses. The jitter, also that of the first, keeps the clients of a server that restarts from
// returning at the same moment.
func Backoff() pause.Backoff { return pause.Backoff{First: pause.Jittered(FirstPause), Max: LastPause} }
