package cluster

import (
	"context"
	"errors"
	"slices"

	"github.com/redlatch/redlatch/driver"
)

// astray finds what of a part has to be sent again, and where to, after the replies came.
func (d *Driver) astray(ctx context.Context, b *batch, p part) (again []part) {
	if ctx.Err() != nil || d.life.Err() != nil {
		b.giveUp(p.places)
		return nil
	}
	if p.node.closed() && b.unsent(p.places) {
		return d.divide(b, p.places)
	}
	for _, tail := range b.tails(p) {
		to, ok := d.redirected(b, p.node, tail)
		switch {
		case !ok:
		case to.asking:
			again = part{node: d.node(to.address), asking: true, file: -1}.join(again, tail...)
		default:
			again = part{node: d.moved(to), file: -1}.join(again, tail...)
		}
	}
	for _, p := range again {
		slices.Sort(p.places) // slot after slot until here
	}
	return again
}

// tails are the commands of each slot in a part from the first on that was redirected.
func (b *batch) tails(p part) (tails [][]int) {
	var index map[int]int // of a slot, in tails; of 0 for everything that goes apart
	for _, place := range p.places {
		key, slot := b.commands[place].Key, 0
		if !b.apart {
			if key == "" || index == nil && b.replies[place].Err == nil {
				continue // without a slot, or before the first redirection
			}
			slot = driver.Slot(key)
		}
		if i, found := index[slot]; found {
			tails[i] = append(tails[i], place)
		} else if _, ok := parseRedirection(b.replies[place].Err, p.node.address); ok {
			if index == nil {
				index = make(map[int]int)
			}
			index[slot] = len(tails)
			tails = append(tails, []int{place})
		}
	}
	return tails
}

// redirected says where the commands of a tail have to go. It is false where one of them
// was carried out, which those that were refused may not follow any more.
func (d *Driver) redirected(b *batch, n *node, tail []int) (to redirection, ok bool) {
	to, _ = parseRedirection(b.replies[tail[0]].Err, n.address)
	overtaken := false
	for _, place := range tail {
		_, refused := parseRedirection(b.replies[place].Err, n.address)
		overtaken = overtaken || !refused && !b.follows(place)
	}
	if to.asking || overtaken {
		d.transit.add(to.slot)
	}
	if overtaken {
		if !to.asking {
			d.moved(to)
		}
		b.giveUp(tail)
	}
	return to, !overtaken
}

// giveUp leaves redirected commands to the caller, in a way that tells him what he may do.
func (b *batch) giveUp(places []int) {
	for _, place := range places {
		if _, ok := parseRedirection(b.replies[place].Err, ""); ok {
			text := "TRYAGAIN redirected: " + b.replies[place].Err.Error()
			b.replies[place] = driver.Reply{Err: &driver.ServerError{Message: text}}
		}
	}
}

// unsent says that none of the commands has left.
func (b *batch) unsent(places []int) bool {
	for _, place := range places {
		if !errors.Is(b.replies[place].Err, driver.ErrNotSent) {
			return false
		}
	}
	return true
}
