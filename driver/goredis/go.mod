module github.com/redlatch/redlatch/driver/goredis

go 1.26.0

require (
	github.com/redis/go-redis/v9 v9.7.3
	github.com/redlatch/redlatch v0.2.0
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/cespare/xxhash/v2 v2.2.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
	github.com/redis/rueidis v1.0.69 // indirect
	golang.org/x/sys v0.31.0 // indirect
)
