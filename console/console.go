package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Options are the settings of a Console.
type Options struct {
	// Title says which server this is, such as its address. The page shows it.
	Title string
	// Pattern selects locks by their names, as SCAN does. Default: all.
	Pattern string
	// Every is how often Redis is read while somebody looks. Default: 1s.
	Every time.Duration
	// Waits returns who waits for which lock, beyond the queues of fair locks: ReportedWaits makes
	// one. It is called once for each reading. Default: only those queues are known.
	Waits func(ctx context.Context) ([]Wait, error)
	// Unlock takes a lock, or a permit, away from its holder at the request of a viewer who has the Token. It must
	// have no Config.Prefix. Default: nobody can take a lock away.
	Unlock *redlatch.Client
	// Token is what a viewer has to know to take a lock away: at least 32 characters that nobody can
	// guess, such as those of crypto/rand.Text twice.
	Token string
	// Private demands the Token for everything but the empty page.
	Private bool
	// Hosts are the names under which browsers reach the page. IP addresses and localhost are always
	// allowed. All names are allowed if Private is set. Other names are refused: with one of its own,
	// a foreign page could read this one (DNS rebinding).
	Hosts []string
	// Logger gets a line for each lock that is taken away and for wrong tokens. Default: slog.Default().
	Logger *slog.Logger
}

// Wait is one owner that waits for a lock.
type Wait struct {
	Lock  string
	Owner string
	Name  string   // Config.Name of its client, "" if unknown
	Under []string // owners of the holds that end only after its wait
	// Certain says that the wait is part of a deadlock that is certain. All waits for which it is true and
	// that are connected went on at one moment. The page calls any other cycle possible.
	Certain bool
}

// minToken is how many characters a token has at least. So many cannot be guessed.
const minToken = 32

// Console is the page and what stands behind it. It is safe for use by several goroutines.
type Console struct {
	options Options
	feed    *feed
	guard   *guard
	handler http.Handler

	unlocking sync.Mutex // held by the request that takes a lock away
}

// New returns a console that shows what source reads. Close it after the HTTP server has ended.
//
// Errors: an option that is missing or wrong.
func New(source Source, options Options) (*Console, error) {
	if options.Every == 0 {
		options.Every = time.Second
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	switch {
	case lockerr.Missing("source", source) != nil:
		return nil, errors.New("console: no source")
	case options.Every < minEvery:
		return nil, fmt.Errorf("console: Every is %v: at least %v", options.Every, minEvery)
	case options.Token != "" && len(options.Token) < minToken:
		return nil, fmt.Errorf("console: Token has %d characters: at least %d", len(options.Token), minToken)
	case options.Token == "" && (options.Unlock != nil || options.Private):
		return nil, errors.New("console: Unlock and Private need a Token")
	}
	for _, host := range options.Hosts {
		if hostOf(host) == "" || strings.ContainsAny(host, "/*") {
			return nil, fmt.Errorf("console: Hosts has %q: it takes names, such as admin.example.org", host)
		}
	}
	c := &Console{options: options, feed: newFeed(source, options)}
	c.guard = newGuard(options)
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", page)
	mux.Handle("GET /{file}", page)
	mux.Handle("GET /events", c.guard.data(c.events))
	mux.Handle("GET /story", c.guard.data(c.story))
	if options.Unlock != nil {
		mux.Handle("POST /unlock", c.guard.change(c.unlock))
	}
	c.handler = c.guard.all(below(mux))
	return c, nil
}

// minEvery is how often Redis may be read at most.
const minEvery = 50 * time.Millisecond

// ServeHTTP serves the page and its data.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// Close ends the streams of all viewers and the reader of Redis. It returns when that has ended, and a
// request that takes a lock away.
func (c *Console) Close() {
	c.feed.close()
	c.unlocking.Lock() // whoever comes later finds no lock
	defer c.unlocking.Unlock()
}
