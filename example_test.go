package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	_ "github.com/redlatch/redlatch/driver/memory" // for memory://
)

func openExample(ctx context.Context) *redlatch.Client {
	client, err := redlatch.Open(ctx, "memory://", redlatch.Config{})
	if err != nil {
		panic(err)
	}
	return client
}

// A lock is held from Lock to Unlock; what was acquired is the hold.
func ExampleMutex() {
	ctx := context.Background()
	client := openExample(ctx)
	defer client.Close(ctx)

	hold, err := client.Mutex("order:1001").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Mutex("order:1001").TryLock(ctx)
	fmt.Println("somebody else:", errors.Is(err, redlatch.ErrNotAcquired))
	fmt.Println("released:", hold.Unlock(ctx) == nil)
	// Output:
	// somebody else: true
	// released: true
}

// Do holds the lock while a function runs. Its context ends when the hold is lost.
func ExampleDo() {
	ctx := context.Background()
	client := openExample(ctx)
	defer client.Close(ctx)

	err := redlatch.Do(ctx, client.Mutex("report"), func(ctx context.Context, h *redlatch.Hold) error {
		fmt.Println("held:", h.Valid())
		return nil
	}, redlatch.WithWait(time.Second))
	fmt.Println("error:", err)
	// Output:
	// held: true
	// error: <nil>
}

// Below WithOwner everything is one owner, which re-enters.
func ExampleClient_WithOwner() {
	ctx := context.Background()
	client := openExample(ctx)
	defer client.Close(ctx)

	lock := client.Mutex("account:7")
	ctx = client.WithOwner(ctx)
	outer, _ := lock.Lock(ctx)
	inner, _ := lock.Lock(ctx)
	status, _ := lock.Status(ctx)
	fmt.Println("holds:", status.Holders[0].Count)
	_ = inner.Unlock(ctx)
	_ = outer.Unlock(ctx)
	status, _ = lock.Status(ctx)
	fmt.Println("locked:", status.Locked)
	// Output:
	// holds: 2
	// locked: false
}

// An owner that writes may go on as a reader, and lets other readers in.
func ExampleRWMutex() {
	ctx := context.Background()
	client := openExample(ctx)
	defer client.Close(ctx)

	rw := client.RWMutex("catalogue")
	mine := client.WithOwner(ctx)
	write, _ := rw.Lock(mine)
	_, err := rw.TryRLock(ctx)
	fmt.Println("readers wait:", errors.Is(err, redlatch.ErrNotAcquired))
	read, _ := rw.RLock(mine)
	_ = write.Unlock(mine)
	other, err := rw.TryRLock(ctx)
	fmt.Println("readers enter:", err == nil)
	_ = other.Unlock(ctx)
	_ = read.Unlock(mine)
	// Output:
	// readers wait: true
	// readers enter: true
}

// A token orders the holders of a lock for whatever it guards.
func ExampleWithFencing() {
	ctx := context.Background()
	client := openExample(ctx)
	defer client.Close(ctx)

	for range 2 {
		hold, _ := client.Mutex("stock:7").Lock(ctx, redlatch.WithFencing())
		fmt.Println("token:", hold.Token())
		_ = hold.Unlock(ctx)
	}
	// Output:
	// token: 1
	// token: 2
}
