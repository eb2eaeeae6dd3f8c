// Package driver is the port between redlatch and a Redis client library:
// interfaces, one reply type, the errors, and the register of embedded servers.
//
// redlatch needs little of a client, but that little is exact:
//
//   - A pipeline runs its commands in the given order, on one connection.
//   - The driver never sends a command twice by itself. redlatch repeats a
//     command when it knows that this is harmless.
//   - Every call ends with its context, or within the driver's own command
//     timeout, whichever comes first. This also holds while the server is frozen
//     or a connection is being made.
//   - An error says whether the server refused, whether the command certainly
//     never left, or whether nobody knows. Nobody knows if the call panics or ends
//     its goroutine. redlatch calls a driver on a goroutine of its own each time,
//     unless the driver is one of the packages below.
//
// Package drivertest holds the suite that every driver passes.
//
// The packages below this one are drivers: rueidis for one server, sentinel for a
// primary that Redis Sentinel watches over, cluster for a Redis Cluster, and memory
// for a server in this process. Each has a function Open(ctx, Options). Open blocks
// until the server has answered, until ctx ends, or until the command timeout has
// passed. It returns an *OptionError for options that cannot work, and otherwise the
// error of the network or of the server, with its address and never with a password.
// An Open that failed leaves nothing behind. Package goredis is different: its New
// and Open take a client that the application has made.
package driver

import (
	"context"
	"time"
)

// Driver is a connection to one Redis deployment. It is safe for concurrent use.
type Driver interface {
	// Do sends one command and returns its reply. It blocks until the reply
	// is there, ctx ends, or the driver's command timeout has passed.
	// A failure is in the reply: a *ServerError if the server answered
	// with an error, an error that matches ErrNotSent if the command
	// certainly never left, and any other error if the outcome is unknown.
	Do(ctx context.Context, command Command) Reply

	// Pipeline sends the commands in this order on one connection, in one
	// write where it can. It returns one reply for each, in the same order.
	// A server error in one command does not stop the commands behind it.
	Pipeline(ctx context.Context, commands ...Command) []Reply

	// DedicatedPipeline is Pipeline for commands that the server answers late, such
	// as WAIT. It sends them on a connection that no other call uses meanwhile, so
	// that no other call waits behind them. Only ctx and the server bound it: the
	// command timeout does not.
	DedicatedPipeline(ctx context.Context, commands ...Command) []Reply

	// Listen opens a connection that is used for subscriptions alone. It
	// delivers its events one after another, in the order of their arrival;
	// the functions must not block. A connection that breaks is not opened
	// again: Listener.Done tells the caller, who calls Listen again.
	Listen(ctx context.Context, events Events) (Listener, error)

	// Close ends every connection. Calls under way end with an error.
	Close()
}

// Bounded is a Driver that tells its command timeout. redlatch needs no timer of its
// own for a call that may last that long.
type Bounded interface {
	Driver

	// CommandTimeout is the time within which every call ends by itself, except
	// DedicatedPipeline.
	CommandTimeout() time.Duration
}

// Identified is a Driver of one server that knows which run of a server that is. A Quorum need not ask.
type Identified interface {
	Driver

	// RunID is the run_id of the server of the latest connection, "" if there was none or if the server
	// does not tell. Moves counts how often a connection for commands led to another server than the one before. While
	// it stays the same, all commands go to that server. RunID does not block.
	RunID() (run string, moves int64)
}

// Sharded is a Driver of several servers that divide the keys among themselves: a Redis
// Cluster.
//
// Its pipelines keep the order of commands whose keys lie in one slot. While that slot
// moves to another server, they keep only the order of commands with the same key. A
// Pipeline may use several slots and servers. Its parts run side by side and fail
// independently. The commands of a DedicatedPipeline have one slot.
//
// Its Listener outlives the loss of single servers. It subscribes again by itself, and
// reports that by Subscribed.
type Sharded interface {
	Driver

	// Shard names the server that has key now, as far as is known. It does not block.
	Shard(key string) string

	// ShardMessages says that the servers know SPUBLISH, and that listeners receive it
	// as well as PUBLISH.
	ShardMessages() bool
}

// Fleet is a Driver of several servers that can be addressed one by one: a Redis Cluster. It is for
// commands that have no key, such as SCAN, CLIENT LIST and PUBSUB NUMSUB.
type Fleet interface {
	Driver

	// Servers are the servers that have keys now. It asks for the slot map, so it blocks for one
	// round trip, until ctx ends, or until the command timeout has passed.
	Servers(ctx context.Context) ([]Server, error)
}

// Server is one server of a Fleet.
type Server struct {
	Address string
	// Pipeline is Driver.Pipeline on this server, wherever the keys of the commands are. A command
	// that is redirected fails with the server's error.
	Pipeline func(ctx context.Context, commands ...Command) []Reply
}

// Embedded is a Driver of a server in this process. Such a server cannot restart while the
// process holds a lock, so a Quorum does not ask how long it has been up.
type Embedded interface {
	Driver

	// Embedded does nothing.
	Embedded()
}

// Command is one Redis command.
type Command struct {
	// Words are the command's name and arguments, in order.
	Words []string
	// Key is the key that decides to which server of a cluster the command
	// goes. Every key among Words lies in the same slot.
	Key string
}

// Listener is one subscription connection.
type Listener interface {
	// Subscribe asks for messages of the channels. It returns when the
	// request has been handed to the connection; the acknowledgement of each
	// channel arrives as an event.
	Subscribe(ctx context.Context, channels ...string) error
	// Unsubscribe asks for no more messages of the channels.
	Unsubscribe(ctx context.Context, channels ...string) error
	// Done is closed when the connection is gone, for whatever reason.
	Done() <-chan struct{}
	// Close ends the connection. No event is delivered after it has returned,
	// so neither Close nor Driver.Close may be called from within an event.
	Close()
}

// ShardListener is a Listener on one server of a cluster that also receives what is
// published in that server's shard alone (SPUBLISH). Its events do not tell the two
// ways of publishing from each other.
type ShardListener interface {
	Listener
	// SubscribeShard asks for messages of channels of one slot. The server refuses the
	// channels of a slot that is neither its own nor moving to it, by a *ServerError
	// with the code MOVED.
	SubscribeShard(ctx context.Context, channels ...string) error
	// UnsubscribeShard asks for no more of them.
	UnsubscribeShard(ctx context.Context, channels ...string) error
}

// Events are the functions that a Listener calls. A nil function is not called.
type Events struct {
	// Subscribed reports that the server acknowledged a subscription: every
	// message published on the channel from now on will be delivered.
	Subscribed func(channel string)
	// Evicted reports that the server ended a subscription to a shard's channel of its
	// own accord, because the slot has moved to another server.
	Evicted func(channel string)
	// Message reports a published message.
	Message func(channel, payload string)
}
