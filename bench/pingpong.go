package main

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"
)

// openPingPong is two players, each in a process of its own. To lock is to get a message and to run
// the script of an acquisition; to unlock is to send the other one a message. So a hand-over is
// publish, delivery and one script. It compares, and limits nothing: a contender whose request is
// already on its way when the lock is released needs no message.
func openPingPong(ctx context.Context, address string, wire *wire) (client, error) {
	commands, err := bareClient(ctx, address, wire)
	if err != nil {
		return client{}, err
	}
	messages, err := bareClient(ctx, address, wire)
	if err != nil {
		commands.Close()
		return client{}, err
	}
	closeBoth := func() { messages.Close(); commands.Close() }
	recorded, err := record(ctx, address)
	if err != nil {
		closeBoth()
		return client{}, err
	}
	return client{close: closeBoth, worker: func(name string) (worker, error) {
		player, err := commands.Do(ctx, commands.B().Incr().Key(name+":players").Build()).AsInt64()
		if err != nil {
			return worker{}, err
		}
		ball, err := subscribe(ctx, messages, fmt.Sprintf("%s:%d", name, player))
		if player == 1 {
			ball <- struct{}{} // it serves
		}
		// The same owner again and again: each acquisition but the first one re-enters, which is the
		// same work for the server.
		acquire, other := recorded.pair(fmt.Sprintf("%s:lock:%d", name, player)).lock, fmt.Sprintf("%s:%d", name, 3-player)
		return worker{
			lock: func(ctx context.Context) error {
				select {
				case <-ball:
					return sendBare(ctx, commands, acquire)
				case <-ctx.Done():
					return ctx.Err()
				}
			},
			unlock: func(ctx context.Context) error {
				return commands.Do(ctx, commands.B().Publish().Channel(other).Message("0").Build()).Error()
			},
		}, err
	}}, nil
}

// subscribe returns when the server has acknowledged it. What comes is in the channel.
func subscribe(ctx context.Context, c rueidis.Client, channel string) (chan struct{}, error) {
	messages, acknowledged := make(chan struct{}, 1), make(chan struct{})
	dedicated, _ := c.Dedicate()
	dedicated.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(rueidis.PubSubMessage) { messages <- struct{}{} },
		OnSubscription: func(rueidis.PubSubSubscription) { close(acknowledged) },
	})
	if err := dedicated.Do(ctx, c.B().Subscribe().Channel(channel).Build()).Error(); err != nil {
		return messages, err
	}
	select {
	case <-acknowledged:
		return messages, nil
	case <-ctx.Done():
		return messages, ctx.Err()
	}
}
