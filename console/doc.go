// Package console shows the locks in a Redis on a web page while they change: who holds each, who
// waits, in which order, how much of a lease is left, and what is wrong.
//
// A Console is an http.Handler. It works below any path, and needs nothing but the program that
// contains it:
//
//	page, err := console.New(inspector, console.Options{})
//	http.Handle("/locks/", http.StripPrefix("/locks", page))
//
// All viewers share one reader of Redis. It starts with the first viewer and ends a little after
// the last. What happened to a lock is kept in memory, bounded in locks, events and time.
//
// # What can go wrong between two lines
//
//   - A lock changes after it was read. The page shows what was, and takes a lock only from the owner
//     that it has shown: the script that does so compares.
//   - A viewer is slower than the changes. It is dropped, connects again and gets the whole table.
//   - The last viewer leaves while the next one comes. Each reader has a number; what an ended one
//     still reads is ignored.
//   - Redis cannot be read, or says nothing. Viewers are told why, and keep the last table, marked as
//     old. The history has a gap.
//   - A viewer leaves, or the console is closed, while a lock is taken away. That goes on, and Close
//     waits for it. Of two requests for the same hold, the second finds what the first has done.
package console
