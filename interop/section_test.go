//go:build interop

package interop_test

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// section is what a lock is to guard; see Section.java.
func (t *thread) section(c command, a *answer) error {
	a.Owner = t.owner()
	mode := "X "
	if c.Shared {
		mode = "S "
	}
	who := mode + a.Owner + " " + c.Op
	var before []int64
	for _, name := range members(c.Name) {
		entry := "enter " + who
		if c.Token > 0 {
			entry += fmt.Sprint(" ", c.Token)
		}
		if err := t.note(name, entry); err != nil {
			return err
		}
		count, err := t.count(name)
		if err != nil {
			return err
		}
		before = append(before, count)
	}
	time.Sleep(time.Duration(c.Work) * time.Millisecond) // the work
	for i, name := range members(c.Name) {
		after, err := t.step(name, before[i], c.Shared)
		if err == nil {
			err = t.note(name, fmt.Sprintf("leave %s %d %d", who, before[i], after))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *thread) note(name, line string) error {
	return t.redis("RPUSH", name+":journal", line).Err
}

func (t *thread) count(name string) (int64, error) {
	reply := t.redis("GET", name+":counter")
	if reply.Err != nil || reply.IsNil {
		return 0, reply.Err
	}
	return strconv.ParseInt(reply.Str, 10, 64)
}

// step moves a counter on, or reads it once more where others may read as well.
func (t *thread) step(name string, before int64, shared bool) (after int64, err error) {
	if shared {
		return t.count(name)
	}
	after = before + 1
	return after, t.redis("SET", name+":counter", strconv.FormatInt(after, 10)).Err
}

// owner is the name under which the thread holds anything at the moment.
func (t *thread) owner() string {
	for _, holds := range t.holds {
		for _, h := range holds {
			return owner(h)
		}
	}
	return t.client.ID() + ":none"
}

func (t *thread) redis(words ...string) driver.Reply {
	return t.client.redis.Do(context.Background(), driver.Command{Words: words, Key: words[1]})
}
