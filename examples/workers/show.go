package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/inspect"
)

// show starts the pool, kills one of its processes, and changes how many permits there are.
func show(ctx context.Context, out io.Writer) error {
	server, err := memory.Serve("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer server.Close()
	client, err := redlatch.Open(ctx, "redis://"+server.Addr(), redlatch.Config{Name: "show"})
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	inspector, err := inspect.New(client.Driver(), inspect.Config{})
	if err != nil {
		return err
	}
	d := &director{screen{out, time.Now()}, &book{owner: map[string]string{}}, client.PermitSemaphore(pool), inspector, map[string]*process{}}
	for _, name := range []string{"ada", "bob", "cleo", "dora"} {
		p, err := start(ctx, "redis://"+server.Addr(), name, d.book.note)
		if err != nil {
			return err
		}
		defer p.end()
		d.processes[name] = p
	}
	return d.direct(ctx)
}

// director says what happens, and sees that the pool does it.
type director struct {
	screen
	book      *book
	slots     *redlatch.PermitSemaphore
	inspector *inspect.Inspector
	processes map[string]*process
}

func (d *director) direct(ctx context.Context) error {
	d.say("%d workers in %d processes share %d permits", workers*len(d.processes), len(d.processes), permits)
	if _, err := d.await(ctx, allInUse); err != nil {
		return err
	}
	time.Sleep(lease) // long enough to see something
	if err := d.killOne(ctx); err != nil {
		return err
	}
	grown := time.Now()
	if err := d.resize(ctx, +3); err != nil {
		return err
	}
	time.Sleep(lease)
	if err := d.resize(ctx, -6); err != nil {
		return err
	}
	shrunk := time.Now()
	time.Sleep(lease)
	for _, p := range d.processes {
		p.end()
	}
	c, err := d.await(ctx, func(c inspect.Counter) bool { return c.InUse == 0 })
	if err != nil {
		return err
	}
	first, second, third := d.book.most(d.began, grown), d.book.most(grown, shrunk), d.book.most(shrunk, time.Now())
	d.say("%d jobs are done: %d at a time at most, then %d, then %d; %d permits are available", d.book.done(), first, second, third, c.Available)
	if first > permits || second > permits+3 || third > permits-3 {
		return fmt.Errorf("more jobs at a time than permits")
	}
	return nil
}

// killOne kills the process that has most permits, and waits until others can have them.
func (d *director) killOne(ctx context.Context) error {
	c, err := d.await(ctx, allInUse)
	if err != nil {
		return err
	}
	d.say("%s", d.inWords(c))
	held := d.byProcess(c)
	names := slices.Sorted(maps.Keys(held))
	victim := slices.MaxFunc(names, func(a, b string) int { return len(held[a]) - len(held[b]) })
	d.processes[victim].kill()
	delete(d.processes, victim)
	if c, err = d.await(ctx, nil); err != nil {
		return err
	}
	lost := d.byProcess(c)[victim]
	d.say("%s is killed with %d permits, which come back within %v", victim, len(lost), lease)
	c, err = d.await(ctx, func(c inspect.Counter) bool {
		return allInUse(c) && len(d.byProcess(c)[victim]) == 0
	})
	if err == nil {
		d.say("they are back: %s", d.inWords(c))
	}
	return err
}

// allInUse says that all permits that there are at first are in use.
func allInUse(c inspect.Counter) bool { return c.InUse == permits }

// resize changes by n how many permits there are, and waits until as many are in use.
func (d *director) resize(ctx context.Context, n int) error {
	before, err := d.await(ctx, nil)
	if err != nil {
		return err
	}
	if err := d.slots.AddPermits(ctx, n); err != nil {
		return err
	}
	available, err := d.slots.Available(ctx)
	if err != nil {
		return err
	}
	d.say("%+d permits: %d are available", n, available)
	after, err := d.await(ctx, func(c inspect.Counter) bool { return c.InUse == before.Size()+n })
	if err == nil {
		d.say("%s", d.inWords(after))
	}
	return err
}

// await looks at the semaphore until it is as wanted, and every process has said which permits it has.
func (d *director) await(ctx context.Context, wanted func(c inspect.Counter) bool) (inspect.Counter, error) {
	for {
		c, err := d.inspector.Counter(ctx, pool)
		if err != nil {
			return c, err
		}
		known := !slices.ContainsFunc(c.Permits, func(p inspect.Permit) bool { return d.book.ownerOf(p.ID) == "" })
		if known && (wanted == nil || wanted(c)) {
			return c, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// byProcess are the permits in use, by the process that has them.
func (d *director) byProcess(c inspect.Counter) map[string][]string {
	all := map[string][]string{}
	for _, p := range c.Permits {
		name := d.book.ownerOf(p.ID)
		all[name] = append(all[name], p.ID)
	}
	return all
}

// inWords says who has how many permits.
func (d *director) inWords(c inspect.Counter) string {
	held := d.byProcess(c)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(held)) {
		all = append(all, fmt.Sprintf("%s %d", name, len(held[name])))
	}
	return fmt.Sprintf("%d of %d permits are in use: %s", c.InUse, c.Size(), strings.Join(all, ", "))
}
