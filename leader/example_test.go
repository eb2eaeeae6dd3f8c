package leader_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	_ "github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/leader"
)

func ExampleRun() {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	client, err := redlatch.Open(ctx, "memory://", redlatch.Config{})
	if err != nil {
		panic(err)
	}
	defer client.Close(context.Background())

	err = leader.Run(ctx, client.Mutex("billing"), leader.Callbacks{
		Started: func(ctx context.Context, h *redlatch.Hold) {
			fmt.Println("leads in term", h.Token()) // works until ctx ends, or returns to resign
		},
		Stopped: func(err error) { fmt.Println("leads no more:", err) },
	})
	fmt.Println(err)
	// Output:
	// leads in term 1
	// leads no more: <nil>
	// <nil>
}
