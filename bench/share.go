package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The fourth table: one lock, redlatch in one process and another implementation of the same format in
// the other, with as many threads each.

const shareWorkers = 2

// shareSections are how long the lock is held each time.
var shareSections = []time.Duration{0, 200 * time.Microsecond, 2 * time.Millisecond}

// shareRow is the slices beside one other implementation, with sections of one length. In a ledger the
// process 0 is redlatch, and 1 is the other.
type shareRow struct {
	other   string
	section time.Duration
	ledgers []ledger
}

func (r shareRow) name() string {
	return fmt.Sprintf("beside %s, sections of %g ms", r.other, r.section.Seconds()*1e3)
}

// share is the part of the grants that the other implementation got.
func (r shareRow) share() float64 {
	return column(r.ledgers, func(l ledger) float64 { return l.of(1).perSecond() / max(l.perSecond(), 1) })
}

// longest is the longest wait in one of the processes, in milliseconds.
func (r shareRow) longest(process int) float64 {
	return column(r.ledgers, func(l ledger) float64 { return longest(l.of(process).waits()) / 1e6 })
}

// sharers are those that share a lock with redlatch. The first one is redlatch in another process.
func (b *bench) sharers() []entrant {
	ours, _ := findEntrant(nameRedlatch)
	java, _ := findEntrant(nameRedisson)
	return b.present([]entrant{ours, java, {name: nameNode, foreign: true}})
}

// shareRows are the rows, with nothing measured yet.
func (b *bench) shareRows() (rows []shareRow) {
	for _, other := range b.sharers() {
		for _, section := range shareSections {
			rows = append(rows, shareRow{other: other.name, section: section})
		}
	}
	return rows
}

func measureShares(ctx context.Context, b *bench) ([]shareRow, error) {
	rows := b.shareRows()
	for round := range b.plan.shareRounds {
		for i, row := range rows {
			name := fmt.Sprintf("share:%s:%v:%d", row.other, row.section, round)
			l, err := b.shareSlice(ctx, row, name)
			if err != nil {
				return nil, fmt.Errorf("redlatch beside %s: %w", row.other, err)
			}
			rows[i].ledgers = append(row.ledgers, l)
		}
	}
	return rows, nil
}

// shortest is the shortest section of a contest with another implementation, which Java and Node
// do not make shorter.
const shortest = 2 * time.Microsecond

// foreignClock is by how much the clock of another runtime may differ: Node sets its own by ticks of
// a millisecond.
const foreignClock = time.Millisecond

func (b *bench) shareSlice(ctx context.Context, row shareRow, name string) (l ledger, err error) {
	ours, err := self(ctx, 2)
	if err != nil {
		return l, err
	}
	defer ours.end()
	both := ours
	if row.other != nameRedlatch {
		theirs, err := b.residents(ctx, row.other, 1)
		if err != nil {
			return l, err
		}
		both = slices.Concat(ours[:1], theirs)
	}
	var orders []order
	for process := range both {
		orders = append(orders, order{
			Task: taskContend, Address: b.server.address, Entrant: nameRedlatch, Name: name,
			Process: process, Workers: shareWorkers, Section: max(row.section, shortest), For: b.plan.warmUp + b.plan.shareSlice,
		})
	}
	began, reports, err := both.perform(ctx, orders)
	if err != nil {
		return l, err
	}
	l = newLedger(slices.Concat(reports[0].Holds, reports[1].Holds), after(began, b.plan.warmUp, b.plan.shareSlice))
	var slack time.Duration
	if row.other != nameRedlatch {
		slack = foreignClock
	}
	return l, l.exclusive(slack)
}

func (p page) shares(rows []shareRow) {
	p.line("### One lock, redlatch beside another implementation, %d threads each\n", shareWorkers)
	var lines [][]string
	for _, r := range rows {
		ours, theirs := r.longest(0), r.longest(1)
		lines = append(lines, []string{
			r.name(),
			fmt.Sprintf("%.0f", column(r.ledgers, ledger.perSecond)),
			fmt.Sprintf("%.0f %%", 100*(1-r.share())),
			fmt.Sprintf("%.0f %%", 100*r.share()),
			fmt.Sprintf("%.1f", ours),
			fmt.Sprintf("%.1f", theirs),
			fmt.Sprintf("%.1f", theirs/ours),
		})
	}
	p.table([]string{"", "cycles/s", "share of redlatch", "share of the other", "longest wait of redlatch, ms", "of the other, ms", "÷ that of redlatch"}, lines)
}

// shareGoals are the goals beside each other implementation. The worst section counts.
func shareGoals(rows []shareRow) (goals []goal) {
	for _, other := range []string{nameRedlatch, nameRedisson, nameNode} {
		var share, wait float64
		for i, r := range rows {
			if r.other != other {
				continue
			}
			if ratio := r.longest(1) / r.longest(0); ratio > wait {
				wait = ratio
			}
			if i == 0 || share == 0 || r.share() < share {
				share = r.share()
			}
		}
		least := 0.25
		if other == nameRedlatch {
			least = 0.4
		}
		goals = append(goals,
			atLeast(least, share, "share of "+other+" beside redlatch"),
			atMost(3, wait, "longest wait of "+other+", × that of redlatch beside it"))
	}
	return goals
}
