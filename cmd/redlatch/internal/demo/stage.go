package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
)

// stage is what stands before the first worker comes: a server, a lock that nobody
// else uses, the counter and the journal.
type stage struct {
	settings Settings
	url      string         // for the workers
	address  string         // for people, without the password
	server   *memory.Server // nil if the user brought one
	client   *redlatch.Client
	lock     lock
	folder   string
	counter  *counter
	journal  *journal
	reader   *journalReader
}

// lock is what the parent looks at, and sweeps at the end.
type lock interface {
	Name() string
	Status(ctx context.Context) (redlatch.Status, error)
	ForceUnlock(ctx context.Context) (bool, error)
}

// build sets the stage. After an error nothing is left of it.
func build(ctx context.Context, settings Settings) (*stage, error) {
	st := &stage{settings: settings, url: settings.Redis}
	for _, step := range []func(context.Context) error{st.serve, st.connect, st.openFiles} {
		if err := step(ctx); err != nil {
			st.strike()
			return nil, err
		}
	}
	return st, nil
}

// serve runs a server if the user brought none.
func (st *stage) serve(context.Context) (err error) {
	if st.url != "" {
		if u, err := url.Parse(st.url); err == nil {
			st.address = u.Scheme + "://" + u.Host
		}
		return nil
	}
	if st.server, err = memory.Serve("127.0.0.1:0"); err != nil {
		return err
	}
	st.url = "redis://" + st.server.Addr()
	st.address = st.url + " (embedded)"
	return nil
}

func (st *stage) connect(ctx context.Context) (err error) {
	st.client, err = redlatch.Open(ctx, st.url, redlatch.Config{LeaseTime: st.settings.Lease, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	name := "redlatch:demo:" + strings.ToLower(rand.Text()[:8])
	st.lock = st.client.Mutex(name)
	if st.settings.Fair {
		st.lock = st.client.FairMutex(name)
	}
	return nil
}

func (st *stage) openFiles(context.Context) (err error) {
	if st.folder, err = os.MkdirTemp("", "redlatch-demo-"); err != nil {
		return err
	}
	if st.counter, err = openCounter(st.folder); err != nil {
		return err
	}
	if st.journal, err = openJournal(st.folder); err != nil {
		return err
	}
	st.reader, err = readJournal(st.folder)
	return err
}

// task is what every worker is told.
func (st *stage) task() task {
	return task{URL: st.url, Lock: st.lock.Name(), Fair: st.settings.Fair, Folder: st.folder, Lease: st.settings.Lease, Work: st.settings.Work}
}

// sweep frees the lock where a worker that was killed has left it behind.
func (st *stage) sweep() error {
	if _, err := st.lock.ForceUnlock(context.Background()); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

// strike takes down whatever of the stage stands. That something cannot be closed
// any more changes nothing about what was seen.
func (st *stage) strike() {
	if st.client != nil {
		_ = st.client.Close(context.Background())
	}
	if st.server != nil {
		st.server.Close()
	}
	if st.reader != nil {
		st.reader.close()
	}
	if st.journal != nil {
		st.journal.close()
	}
	if st.counter != nil {
		st.counter.close()
	}
	if st.folder != "" {
		_ = os.RemoveAll(st.folder)
	}
}
