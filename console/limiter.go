package console

import (
	"sync"
	"time"
)

// limiter counts wrong tokens, and keeps the log of them short. It refuses nobody, because a token cannot be guessed.
type limiter struct {
	mu    sync.Mutex
	since time.Time
	wrong int
}

// The bounds of wrong tokens in the log.
const (
	wrongLogged = 10
	wrongWithin = time.Minute
)

// count counts a wrong token, and says whether the log is to have it.
func (l *limiter) count(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= wrongWithin {
		l.since, l.wrong = now, 0
	}
	l.wrong++
	return l.wrong <= wrongLogged
}
