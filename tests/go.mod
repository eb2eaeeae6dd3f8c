module github.com/redlatch/redlatch/tests

go 1.26.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/redlatch/redlatch v0.0.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/redis/rueidis v1.0.79 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	golang.org/x/mod v0.42.0
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/redlatch/redlatch => ../

replace github.com/redlatch/redlatch/driver/goredis => ../driver/goredis

replace github.com/redlatch/redlatch/redlatchprom => ../redlatchprom

replace github.com/redlatch/redlatch/redlatchotel => ../redlatchotel
