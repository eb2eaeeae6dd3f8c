package main

import (
	"slices"
	"strconv"
	"sync"
	"time"
)

// book has what the processes have said.
type book struct {
	mu    sync.Mutex
	owner map[string]string // the process of each permit: Redis does not know it
	jobs  []job
}

// job is a job that is done.
type job struct{ from, until time.Time }

// note notes a line that a process printed.
func (b *book) note(name string, words []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(words) == 2 && words[0] == "takes":
		b.owner[words[1]] = name
	case len(words) == 4 && words[0] == "did":
		from, _ := strconv.ParseInt(words[2], 10, 64)
		until, _ := strconv.ParseInt(words[3], 10, 64)
		b.jobs = append(b.jobs, job{time.Unix(0, from), time.Unix(0, until)})
	}
}

// ownerOf is the process that has a permit, "" if it has not said so yet.
func (b *book) ownerOf(permit string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.owner[permit]
}

// done is how many jobs are done.
func (b *book) done() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.jobs)
}

// most is how many of the jobs that began between two moments were under way at a time.
func (b *book) most(after, before time.Time) (most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	type edge struct {
		at     time.Time
		change int
	}
	var edges []edge
	for _, j := range b.jobs {
		if j.from.After(after) && j.from.Before(before) {
			edges = append(edges, edge{j.from, 1}, edge{j.until, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	now := 0
	for _, e := range edges {
		now += e.change
		most = max(most, now)
	}
	return most
}
