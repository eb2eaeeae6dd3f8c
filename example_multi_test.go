package redlatch_test

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch"
	_ "github.com/redlatch/redlatch/driver/memory" // for memory://
)

// Both accounts are held, or none. A transfer the other way round takes them in the same
// order, so that the two cannot wait for each other.
func ExampleNewMulti() {
	ctx := context.Background()
	client, err := redlatch.Open(ctx, "memory://", redlatch.Config{})
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	both, err := redlatch.NewMulti(client.Mutex("account:42"), client.Mutex("account:17"))
	if err != nil {
		panic(err)
	}
	err = redlatch.Do(ctx, both, func(ctx context.Context, h *redlatch.Hold) error {
		_, err := client.Mutex("account:17").TryLock(context.Background())
		fmt.Println("meanwhile:", err != nil, "of", len(h.Members()))
		return nil
	})
	fmt.Println("afterwards:", err)
	// Output:
	// meanwhile: true of 2
	// afterwards: <nil>
}

// Two of three servers are enough.
func ExampleNewQuorum() {
	ctx := context.Background()
	var locks []redlatch.Lock
	for _, url := range []string{"memory://a", "memory://b", "memory://c"} {
		client, err := redlatch.Open(ctx, url, redlatch.Config{})
		if err != nil {
			panic(err)
		}
		defer client.Close(ctx)
		locks = append(locks, client.Mutex("leader"))
	}

	quorum, err := redlatch.NewQuorum(locks...)
	if err != nil {
		panic(err)
	}
	hold, err := quorum.Lock(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("leader:", hold.Valid())
	fmt.Println("unlock:", hold.Unlock(ctx))
	// Output:
	// leader: true
	// unlock: <nil>
}
