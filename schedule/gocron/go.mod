module github.com/redlatch/redlatch/schedule/gocron

go 1.26.0

require (
	github.com/go-co-op/gocron/v2 v2.12.0
	github.com/redlatch/redlatch v0.2.0
	github.com/robfig/cron/v3 v3.0.1
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jonboulle/clockwork v0.4.0 // indirect
	github.com/redis/rueidis v1.0.69 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	golang.org/x/exp v0.0.0-20240613232115-7f521ea00fb8 // indirect
	golang.org/x/sys v0.31.0 // indirect
)
