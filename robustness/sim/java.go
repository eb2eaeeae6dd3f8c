package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/robustness/internal/redisson"
)

// java is a thread of a Redisson client with its watchdog, played by its scripts. It asks again
// and again until it has the lock. Nothing on its way is lost.
type java struct {
	*World
	name   string
	owner  string
	thread redisson.Thread
	lock   LockSpec
	left   int // how often it will take the lock
	keep   time.Duration
	held   *belief
	until  time.Time // it believes that it holds the lock
	done   bool
}

// startJava starts a thread.
func (w *World) startJava(i int, p javaPlan) {
	j := &java{
		World: w, name: fmt.Sprintf("Java%d", i), owner: fmt.Sprintf("%08d-0000-4000-8000-000000000000:1", i),
		thread: p.thread(), lock: w.plan.Locks[p.Lock], left: p.Times, keep: p.Keep,
	}
	w.names = append(w.names, j.owner, j.name)
	w.javas = append(w.javas, j)
	w.after(p.Keep, j.name+" begins", j.try)
}

// thread is how a thread takes the lock of the plan.
func (p javaPlan) thread() redisson.Thread {
	switch {
	case p.Kind == Fair:
		return redisson.Fair
	case p.Kind == RW && p.Read:
		return redisson.Reader
	case p.Kind == RW:
		return redisson.Writer
	}
	return redisson.Mutex
}

// ask runs a script, and calls then with its reply: "" if the server does not answer.
func (j *java) ask(what, text string, then func(said string)) {
	s := j.servers[0]
	keys := redisson.Keys(j.lock.Name)
	words := append([]string{"EVAL", text, strconv.Itoa(len(keys))}, keys...)
	words = append(words, j.thread.Arguments(j.lock.Name, j.owner, j.plan.Lease, j.plan.config(0).FairWait)...)
	j.after(j.plan.Delay, j.name+" asks for "+what, func() {
		s.when(func() {
			said := ""
			if !s.down && s.refusal == "" {
				said = s.run([]driver.Command{{Words: words}})[0].Str
			}
			j.note(j.name + " is told " + strconv.Quote(said))
			then(said)
		})
	})
}

func (j *java) try() {
	if j.left == 0 {
		j.done = true
		return
	}
	j.ask("the lock", j.thread.Lock, func(said string) {
		if said != "granted" {
			j.after(j.plan.Lease/7, j.name+" tries again", j.try)
			return
		}
		j.left--
		j.held = &belief{java: j, lock: j.lock, read: j.thread.Read, asked: time.Now()}
		j.beliefs = append(j.beliefs, j.held)
		j.believe()
		mine := j.held
		j.after(j.plan.Lease/3, j.name+" is to renew", func() { j.renew(mine) })
		j.after(j.keep, j.name+" is to unlock", j.unlock)
	})
}

// believe: the lock is held for a lease from now on, less what clocks may differ.
func (j *java) believe() { j.until = time.Now().Add(j.plan.Lease - j.plan.Lease/100) }

func (j *java) renew(mine *belief) {
	if mine.ended {
		return
	}
	j.ask("a renewal", j.thread.Renew, func(said string) {
		switch {
		case mine.ended:
		case said == "gone":
			mine.ended = true
		default:
			if said == "granted" {
				j.believe()
			}
			j.after(j.plan.Lease/3, j.name+" is to renew", func() { j.renew(mine) })
		}
	})
}

func (j *java) unlock() {
	j.held.ended = true
	j.ask("an unlock", j.thread.Unlock, func(said string) {
		if said == "" {
			j.after(j.plan.Lease/7, j.name+" unlocks again", j.unlock)
			return
		}
		j.after(j.keep, j.name+" begins", j.try)
	})
}
