package goredis_test

import (
	"context"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/goredis"
)

// Locks share the client that the application has. The application closes it, after the locks.
func ExampleNew() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDRESS")})
	defer rdb.Close()

	d, err := goredis.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	client, err := redlatch.New(d, redlatch.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(context.Background())

	hold, err := client.Mutex("orders:1001").Lock(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(context.Background())
}
