module github.com/redlatch/redlatch

go 1.26.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/redis/rueidis v1.0.69
	github.com/yuin/gopher-lua v1.1.1
)

require golang.org/x/sys v0.31.0 // indirect
