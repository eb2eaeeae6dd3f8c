// Package driver is the port between redlatch and a Redis client library:
// interfaces, one reply type, two error types, and the register of embedded servers.
//
// What redlatch needs of a client is little, but exact:
//
//   - a pipeline whose commands run in the order given, on one connection;
//   - no command is ever sent twice by the driver itself: redlatch repeats a
//     command when it knows that repeating is harmless;
//   - every call ends: when its context ends, or within the driver's own
//     command timeout, whichever comes first, also while the server is frozen
//     or a connection is being made;
//   - an honest account of failure: whether the server refused, whether the
//     command certainly never left, or whether nobody knows.
//
// Package drivertest holds the suite that every driver passes.
package driver

import (
	"context"
	"errors"
	"strings"
)

// Driver is a connection to one Redis deployment. It is safe for concurrent use.
type Driver interface {
	// Do sends one command and returns its reply. It blocks until the reply
	// is there, ctx ends, or the driver's command timeout has passed.
	// A failure is in the reply: a *ServerError where the server answered
	// with an error, an error that matches ErrNotSent where the command
	// certainly never left, and any other error where the outcome is unknown.
	Do(ctx context.Context, command Command) Reply

	// Pipeline sends the commands in this order on one connection, in one
	// write where it can, and returns one reply for each, in the same order.
	// A server error in one command does not stop the ones behind it.
	Pipeline(ctx context.Context, commands ...Command) []Reply

	// Apart is Pipeline for commands that keep the server from answering for a while,
	// such as WAIT: it sends them on a connection that nobody else uses meanwhile, so
	// that nobody else waits behind them. Besides ctx nothing bounds it but the
	// server: the command timeout does not.
	Apart(ctx context.Context, commands ...Command) []Reply

	// Listen opens a connection that is used for subscriptions alone. Its
	// events are delivered one after another, in the order of their arrival;
	// the functions must not block. The connection is not re-opened when it
	// breaks: Listener.Done says so, and the caller listens anew.
	Listen(ctx context.Context, events Events) (Listener, error)

	// Close ends every connection. Calls under way end with an error.
	Close()
}

// Sharded is a Driver of several servers that divide the keys among themselves: a Redis
// Cluster. Its Pipeline and Apart keep the order of commands whose keys lie in one slot.
// While the slot moves to another server, they keep only the order of those with one key.
// A Pipeline may reach over several slots and servers, whose parts go side by side and
// fail independently; the commands of an Apart have one slot. Its Listener outlives the
// loss of single servers: it subscribes anew by itself, and says so by Subscribed.
type Sharded interface {
	Driver

	// Shard names the server that has key now, as far as is known. It does not block.
	Shard(key string) string

	// ShardMessages says that the servers know SPUBLISH, and that listeners hear it as
	// well as PUBLISH.
	ShardMessages() bool
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
	// so it must not be called from within one; neither must Driver.Close.
	Close()
}

// ShardListener is a Listener on one server of a cluster, which can also hear what is
// published in that server's shard alone (SPUBLISH). Its events do not tell the two ways
// apart.
type ShardListener interface {
	Listener
	// SubscribeShard asks for messages of channels of one slot. The server refuses the
	// channels of a slot that is neither its own nor on its way to it, by a *ServerError
	// with the code MOVED.
	SubscribeShard(ctx context.Context, channels ...string) error
	// UnsubscribeShard asks for no more of them.
	UnsubscribeShard(ctx context.Context, channels ...string) error
}

// Events are the things that a Listener reports. A nil function means that
// nobody is interested.
type Events struct {
	// Subscribed reports that the server acknowledged a subscription: every
	// message published on the channel from now on will be delivered.
	Subscribed func(channel string)
	// Evicted reports that the server ended a subscription to a shard's channel of its
	// own accord, because the slot has gone to another server.
	Evicted func(channel string)
	// Message reports a published message.
	Message func(channel, payload string)
}

// Reply is the reply to one command: nil (IsNil), an integer, a string, an
// array, or an error. These are the types of RESP2: a map is an array of keys
// and values in turn, and a floating-point number is a string.
type Reply struct {
	Int   int64   // of an integer reply
	Str   string  // of a string reply
	Array []Reply // of an array reply
	IsNil bool    // a nil reply
	Err   error   // nothing else is set when this is
}

// ErrNotSent is matched by errors of commands that certainly never left this
// process, so that nothing can have happened on the server.
var ErrNotSent = errors.New("not sent")

// ErrNoConnection is matched, beside ErrNotSent, by errors of commands that were not
// sent because the server cannot be reached, and not only because time ran out.
var ErrNoConnection = errors.New("without a connection")

// ServerError is an error reply: the server received the command and refused it.
type ServerError struct {
	// Message is the reply's text, as the server sent it.
	Message string
}

// Error returns the server's text, without where in a script it arose.
func (e *ServerError) Error() string { return withoutScript(e.Message) }

// Code returns the first word of the reply, such as NOSCRIPT or WRONGTYPE.
func (e *ServerError) Code() string {
	code, _, _ := strings.Cut(e.Message, " ")
	return code
}
