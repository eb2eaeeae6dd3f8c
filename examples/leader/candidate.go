package main

import (
	"context"
	"fmt"
	"io"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/leader"
)

// stand is one candidate. It stands until its stdin ends, and prints "leads TERM" and "stops".
func stand(ctx context.Context, url, name string, in io.Reader, out io.Writer) error {
	client, err := redlatch.Open(ctx, url, redlatch.Config{Name: name, LeaseTime: lease})
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		stop()
	}()
	err = leader.Run(ctx, client.Mutex("example"), leader.Callbacks{
		Started: func(ctx context.Context, h *redlatch.Hold) {
			fmt.Fprintln(out, "leads", h.Token())
			<-ctx.Done() // a real leader works here
		},
		Stopped: func(error) { fmt.Fprintln(out, "stops") },
	})
	if ctx.Err() != nil {
		return nil // it was asked to end
	}
	return err
}
