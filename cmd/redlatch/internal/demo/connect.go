package demo

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/goredis"
)

// The drivers by which the processes connect.
const (
	DriverRueidis = "rueidis"
	DriverGoRedis = "goredis"
)

// connect opens a client by a driver. The function that it returns ends the client and what is below.
func connect(ctx context.Context, driver, url string, cfg redlatch.Config) (*redlatch.Client, func() error, error) {
	if driver != DriverGoRedis {
		client, err := redlatch.Open(ctx, url, cfg)
		if err != nil {
			return nil, nil, err
		}
		return client, func() error { return client.Close(context.Background()) }, nil
	}
	options, err := redis.ParseURL(url)
	if err != nil { // its text may show a password
		return nil, nil, fmt.Errorf("--driver %s: go-redis cannot read the URL; give a redis://, rediss:// or unix:// URL", driver)
	}
	application := redis.NewClient(options)
	d, err := goredis.New(application)
	if err != nil {
		_ = application.Close()
		return nil, nil, err
	}
	end := func() error {
		d.Close()
		return application.Close()
	}
	client, err := redlatch.New(d, cfg)
	if err != nil {
		_ = end()
		return nil, nil, err
	}
	return client, func() error {
		err := client.Close(context.Background())
		if failed := end(); err == nil {
			err = failed
		}
		return err
	}, nil
}
