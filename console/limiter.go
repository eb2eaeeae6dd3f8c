package console

import (
	"sync"
	"time"
)

// limiter counts wrong tokens by where they come from, and keeps the log of them short. It refuses
// nobody: a token cannot be guessed, and many viewers may share an address.
type limiter struct {
	mu    sync.Mutex
	wrong map[string]*mistakes
}

// mistakes are those of one origin since a time.
type mistakes struct {
	since time.Time
	count int
}

// The bounds of wrong tokens.
const (
	wrongLogged = 10
	wrongWithin = time.Minute
	maxOrigins  = 1024
)

func newLimiter() *limiter { return &limiter{wrong: map[string]*mistakes{}} }

// count counts a wrong token, and says whether the log is to have it.
func (l *limiter) count(from string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.wrong[from]
	if m == nil || now.Sub(m.since) >= wrongWithin {
		l.forget(now)
		m = &mistakes{since: now}
		l.wrong[from] = m
	}
	m.count++
	return m.count <= wrongLogged
}

// forget makes room for one more origin: of those whose time is over, or else of any.
func (l *limiter) forget(now time.Time) {
	for from, m := range l.wrong {
		if now.Sub(m.since) >= wrongWithin {
			delete(l.wrong, from)
		}
	}
	for from := range l.wrong {
		if len(l.wrong) < maxOrigins {
			return
		}
		delete(l.wrong, from)
	}
}
