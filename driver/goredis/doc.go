// Package goredis is the driver for applications that already have a client of
// github.com/redis/go-redis/v9. It sends the commands of locks through that client, with its pool,
// its credentials, its TLS and its hooks.
//
//	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
//	d, err := goredis.New(rdb)
//	client, err := redlatch.New(d, redlatch.Config{})
//
// # Which clients
//
//   - *redis.Client: one server.
//   - *redis.Client of redis.NewFailoverClient: the primary that Redis Sentinel watches over. go-redis
//     finds the primary, and follows it as it does for the application's own commands.
//   - *redis.ClusterClient: a Redis Cluster. The driver uses the clients that the cluster client
//     has for its servers. Package cluster decides where a command goes, and not go-redis.
//
// New refuses every other client, and says why. A Ring moves the keys of a dead server to another one,
// so that a lock could have two holders. A cluster client that reads from replicas would get the old data
// of a server that has become a replica.
//
// # Nothing is sent twice
//
// go-redis repeats a command after most failures, also if the server may have carried it out. The
// driver asks it not to. In addition, each command can be written to a connection only once, even
// if a hook of the application repeats it.
//
// A command that has not been written when its call ends is never written. Its error matches
// driver.ErrNotSent. If all connections of the pool are in use, the error says so, and does not match
// driver.ErrNoConnection.
//
// # Connections
//
// The calls to one server share one connection. The driver takes it out of the client's pool, and keeps it. If the
// application uses all connections of the pool, the first call waits for one, and so does the first call after a broken
// connection. Give locks a client of their own if the application blocks in Redis, for example by BLPOP. WithReplicas
// uses the command WAIT, on another connection. If the pool has only one connection, all other calls wait for it.
//
// A call ends with its context, whatever ContextTimeoutEnabled says. Its connection stays in use until
// the reply comes, or until the client's ReadTimeout ends it. It stays in use without end if ReadTimeout
// is negative and the server is frozen.
//
// Each listener has one PubSub connection for all its channels, in a cluster one for each server.
// go-redis reconnects a broken PubSub without reporting it. The driver prevents that: its listener
// ends. A silent connection costs one PING in each command timeout (default: 3 s). The end of a
// server is noticed after three command timeouts at the latest. Outside of a cluster, the driver
// sends INFO server as often. The listener ends if the reply shows that commands now go to another
// server. This check is left out if the user may not call INFO.
//
// # What the hooks see
//
// Hooks see each command with the context of the call that it belongs to. They do not see dedicated
// pipelines, which are used for WAIT: go-redis leaves out the hooks of a client whose timeout is
// changed. Hooks of a cluster client see nothing. Add them to the clients of its servers, by
// OnNewNode.
//
// # Options
//
// docs/go-redis.md has the options that matter, and how each of them does in bad weather. A dialer or a hook
// must not panic while go-redis connects, nor a hook at UNWATCH, with which the driver gives a connection back: each
// time, go-redis loses a place of its pool for good.
//
// # What package rueidis does better
//
// It sends commands before the replies to earlier ones have arrived, which is faster under load.
// It ends the connection of a frozen server. It checks replies before they are parsed. While a slot
// of a cluster migrates, its listeners also receive sharded messages of the target server. A
// go-redis listener receives these only from the end of the migration on. Until then,
// Config.PollCap bounds how late a waiter notices a release.
package goredis
