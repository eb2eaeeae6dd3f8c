// Package redistest gives tests real Redis servers, and ways to hurt them.
//
// A Server is a redis-server process of the test's own: it can be frozen,
// killed and restarted. Shared is one for all tests that only use keys of
// their own (Name). StartReplicas, StartSentinels and StartCluster run several
// servers that know each other. A Proxy stands in front of a server and spoils the network
// between it and a client. A package that uses them hands its TestMain to Main,
// which also fails the run if a goroutine is left over. Plans runs random tests.
package redistest
