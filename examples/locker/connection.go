package main

import (
	"context"
	"errors"
	"net/url"
	"strings"

	redis "github.com/redis/rueidis"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// connect opens the driver that the locks and the stock share, as in an application that
// also uses Redis for its data. An application that needs Redis only for its locks calls
// redlatch.Open instead.
func connect(ctx context.Context, address string) (driver.Driver, error) {
	if name, ok := strings.CutPrefix(address, "memory://"); ok {
		return memory.Open(ctx, memory.Options{Name: name})
	}
	u, err := redis.ParseURL(address)
	if err != nil || !strings.HasPrefix(address, "redis") {
		// The parser's own error repeats the password.
		return nil, errors.New("--redis: the URL is none of redis://[user:password@]host[:port][/database], rediss://, memory://")
	}
	return rueidis.Open(ctx, rueidis.Options{
		Address:  u.InitAddress[0],
		Username: u.Username,
		Password: u.Password,
		DB:       u.SelectDB,
		TLS:      u.TLSConfig,
	})
}

// withoutSecrets is a URL that connect has accepted, without user and password.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "memory" {
		return "memory://"
	}
	return u.Scheme + "://" + u.Host + u.Path
}
