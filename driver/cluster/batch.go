package cluster

import (
	"context"
	"errors"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

// batch is the commands of one call and their replies so far.
type batch struct {
	commands []driver.Command
	replies  []driver.Reply
	apart    bool
}

// part is some commands of a batch that go to one node together, by their places in it.
type part struct {
	node   *node
	places []int // in their order; a part that is as long as its batch is the batch
	// asking says that the slot is on its way to the node.
	asking bool
	// file is a slot whose commands go one after another, each wherever it has to; -1 for
	// any other part.
	file int
}

// join adds commands to the part that goes the same way as p, a new one if need be.
func (p part) join(parts []part, places ...int) []part {
	for i, other := range parts {
		if other.node == p.node && other.asking == p.asking && other.file == p.file {
			parts[i].places = append(parts[i].places, places...)
			return parts
		}
	}
	p.places = places
	return append(parts, p)
}

// all are the places of all commands.
func (b *batch) all() []int {
	places := make([]int, len(b.commands))
	for i := range places {
		places[i] = i
	}
	return places
}

// unsendable says why nothing of a batch may be sent.
func (b *batch) unsendable(ctx context.Context) error {
	for _, command := range b.commands {
		if len(command.Words) == 0 || command.Words[0] == "" {
			return notSent(errors.New("command without a name"))
		}
	}
	if err := ctx.Err(); err != nil {
		return notSent(err)
	}
	return nil
}

// firstKey is the first key in a batch, if it has any.
func (b *batch) firstKey() string {
	for _, command := range b.commands {
		if command.Key != "" {
			return command.Key
		}
	}
	return ""
}

// fail gives the commands at places one error.
func (b *batch) fail(places []int, err error) {
	for _, place := range places {
		b.replies[place] = driver.Reply{Err: err}
	}
}

// pick are the commands of a part.
func (b *batch) pick(p part) []driver.Command {
	if len(p.places) == len(b.commands) {
		return b.commands
	}
	commands := make([]driver.Command, len(p.places))
	for i, place := range p.places {
		commands[i] = b.commands[place]
	}
	return commands
}

// take puts the replies to a part where they belong.
func (b *batch) take(p part, replies []driver.Reply) {
	for i, place := range p.places {
		b.replies[place] = replies[i]
	}
}

// pickAsking is pick with an ASKING in front of each command: it holds for one.
func (b *batch) pickAsking(p part) []driver.Command {
	commands := make([]driver.Command, 0, 2*len(p.places))
	for _, place := range p.places {
		commands = append(commands, driver.Command{Words: []string{"ASKING"}}, b.commands[place])
	}
	return commands
}

// takeAsked is take for the replies to pickAsking.
func (b *batch) takeAsked(p part, replies []driver.Reply) {
	for i, place := range p.places {
		b.replies[place] = replies[2*i+1]
	}
}

// follows says that a command acts upon those before it on its connection, and on
// nothing else.
func (b *batch) follows(place int) bool {
	name := b.commands[place].Words[0]
	return b.apart && (strings.EqualFold(name, "WAIT") || strings.EqualFold(name, "WAITAOF"))
}

// answered says that the server had its say about a command.
func answered(reply driver.Reply) bool {
	var refused *driver.ServerError
	return reply.Err == nil || errors.As(reply.Err, &refused) && !errors.Is(reply.Err, driver.ErrNotSent)
}
