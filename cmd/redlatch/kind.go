package main

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
)

// kind is the kind of lock that run takes: the mutex, unless a flag says otherwise.
type kind struct {
	shared    bool   // the read side of a read-write lock
	exclusive bool   // its write side
	fair      bool   // the fair mutex
	permits   int    // one permit of so many; 0: it takes a lock
	ticket    string // the lock is held already, by the owner of this one
}

func (k *kind) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&k.shared, "shared", false, "take the read side of a read-write lock: many readers, or one writer")
	flags.BoolVar(&k.exclusive, "exclusive", false, "take the write side of a read-write lock")
	flags.BoolVar(&k.fair, "fair", false, "take a fair lock, which serves all machines in the order of arrival")
	intVar(flags, &k.permits, "permits", "", 0, "take one of `N` permits instead of a lock, so that at most N run at a time")
}

// check refuses a number of permits that cannot be.
func (k *kind) check(set func(flag string) bool) error {
	if set("permits") && (k.permits < 1 || k.permits > math.MaxInt32) {
		return exit(exitUsage, "--permits %d: from 1 to %d", k.permits, math.MaxInt32)
	}
	return nil
}

// lock is the lock called name.
func (k *kind) lock(client *redlatch.Client, name string) redlatch.Lock {
	switch {
	case k.ticket != "":
		return &ticketLock{client, name, k.ticket}
	case k.permits > 0:
		agree := func(ctx context.Context) error { return k.agree(ctx, client, name) }
		return &permitLock{PermitSemaphore: client.PermitSemaphore(name), permits: k.permits, agree: agree}
	case k.shared:
		return client.RWMutex(name).RLocker()
	case k.exclusive:
		return client.RWMutex(name)
	case k.fair:
		return client.FairMutex(name)
	}
	return client.Mutex(name)
}

// of is the lock or the semaphore called name, for messages.
func (k *kind) of(name string) string {
	if k.permits > 0 {
		return fmt.Sprintf("semaphore %q", name)
	}
	return fmt.Sprintf("lock %q", name)
}

// agree makes the semaphore, or reports that it has another number of permits.
func (k *kind) agree(ctx context.Context, client *redlatch.Client, name string) error {
	made, err := client.PermitSemaphore(name).TrySetPermits(ctx, k.permits)
	if made || err != nil {
		return err
	}
	c, err := counter(ctx, client, name)
	if err == nil && c.Size() != k.permits {
		return exit(exitUsage, "%s has %d permits, and not %d: redlatch permits --set %d %s changes it", k.of(name), c.Size(), k.permits, k.permits, protocol.ShellWord(name))
	}
	return err
}

// counter reads a semaphore, but not who waits: each command whose user may not read that would leave a line in the
// server's ACL LOG.
func counter(ctx context.Context, client *redlatch.Client, name string) (c inspect.Counter, err error) {
	i, err := inspect.New(client.Driver(), inspect.Config{NoWaiters: true})
	if err != nil {
		return c, err
	}
	return i.Counter(ctx, name)
}

// waitsFor says what a wait is for, "" if nobody has it any more.
func (k *kind) waitsFor(client *redlatch.Client, name string) func(context.Context) string {
	if k.permits == 0 {
		return heldFirst(client, name)
	}
	return func(context.Context) string {
		return fmt.Sprintf("a permit of %q: %d of %d in use", name, k.permits, k.permits)
	}
}
