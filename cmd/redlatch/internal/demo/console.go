package demo

import (
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/serve"
	"github.com/redlatch/redlatch/console"
	"github.com/redlatch/redlatch/inspect"
)

// consoleAddress is where the console of the demonstration is, if nobody is there yet.
const consoleAddress = "127.0.0.1:7800"

// consoleEvery is how often the console reads: a worker holds the lock for a moment only.
const consoleEvery = 200 * time.Millisecond

// serveConsole serves the console for the time of the demonstration. It returns its address, and what
// ends it.
func serveConsole(client *redlatch.Client, title string) (address string, end func(), err error) {
	inspector, err := inspect.New(client.Driver(), inspect.Config{})
	if err != nil {
		return "", nil, err
	}
	page, err := console.New(inspector, console.Options{
		Title: title, Pattern: "redlatch:demo:*", Every: consoleEvery, Waits: console.ReportedWaits(client.Driver()), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", consoleAddress)
	if err != nil {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return "", nil, err
	}
	server := serve.New(page, 64)
	var ended sync.WaitGroup
	ended.Go(func() {
		_ = server.Serve(listener) // it ends with the demonstration
	})
	return "http://" + listener.Addr().String() + "/", func() {
		page.Close()
		serve.Shutdown(server)
		ended.Wait()
	}, nil
}
