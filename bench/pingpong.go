package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

// pingPong is one of two players. On each message it takes and gives back a lock of
// its own, as far as a hand-over would: the acquisition stands between the message
// and the answer. The other half of its work, the release, is done by the answer.
func (o order) pingPong(ctx context.Context, ready func() (time.Time, error)) (report, error) {
	ctx, cancel := context.WithTimeout(ctx, o.For+patience)
	defer cancel()
	player, err := newPlayer(ctx, o)
	if err != nil {
		return report{}, err
	}
	defer player.close()
	began, err := ready()
	if err != nil {
		return report{}, err
	}
	turns, err := player.play(ctx, began.Add(o.For))
	return report{Turns: turns}, err
}

type player struct {
	order
	client   rueidis.Client // for commands
	ear      rueidis.Client // for messages
	messages chan struct{}
	acquire  []string
}

func newPlayer(ctx context.Context, o order) (*player, error) {
	words, err := replay(ctx, o.Address)
	if err != nil {
		return nil, err
	}
	p := &player{order: o, messages: make(chan struct{}, 1)}
	// The same owner again and again: each acquisition but the first re-enters,
	// which is the same work for the server.
	acquire, _ := words(o.Name + ":lock")
	p.acquire = acquire[0]
	if p.client, err = bareClient(ctx, o.Address, new(wire)); err != nil {
		return nil, err
	}
	if p.ear, err = bareClient(ctx, o.Address, new(wire)); err != nil {
		p.client.Close()
		return nil, err
	}
	if err := p.listen(ctx); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *player) close() {
	p.ear.Close()
	p.client.Close()
}

// listen subscribes and returns when the server has acknowledged it.
func (p *player) listen(ctx context.Context) error {
	acknowledged := make(chan struct{})
	dedicated, _ := p.ear.Dedicate()
	dedicated.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(rueidis.PubSubMessage) { p.messages <- struct{}{} },
		OnSubscription: func(rueidis.PubSubSubscription) { close(acknowledged) },
	})
	err := dedicated.Do(ctx, p.ear.B().Subscribe().Channel(p.Name).Build()).Error()
	if err != nil {
		return err
	}
	select {
	case <-acknowledged:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// play answers each message until the time is up, and returns how long each turn
// took: from one message to the next.
func (p *player) play(ctx context.Context, until time.Time) (turns []float64, err error) {
	if p.Serve {
		if err := p.answer(ctx); err != nil {
			return nil, err
		}
	}
	overdue := time.NewTimer(time.Until(until))
	defer overdue.Stop()
	var last time.Time
	for {
		select {
		case <-p.messages:
		case <-overdue.C: // the other one has stopped
			return turns, nil
		case <-ctx.Done():
			return turns, errors.New("the ball was lost")
		}
		now := time.Now()
		if !last.IsZero() {
			turns = append(turns, float64(now.Sub(last)))
		}
		last = now
		if now.After(until) {
			return turns, nil
		}
		if err := p.client.Do(ctx, p.client.B().Arbitrary(p.acquire...).Build()).Error(); err != nil {
			return turns, fmt.Errorf("acquire: %w", err)
		}
		if err := p.answer(ctx); err != nil {
			return turns, err
		}
	}
}

func (p *player) answer(ctx context.Context) error {
	if err := p.client.Do(ctx, p.client.B().Publish().Channel(p.Answer).Message("0").Build()).Error(); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}
