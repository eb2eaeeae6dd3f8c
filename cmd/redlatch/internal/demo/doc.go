// Package demo shows what a lock is for, in two scenarios. In counting, processes add one
// to a number in a file, which nothing guards but the lock, and one of them is killed
// inside. In pausing, two holders are stopped, and a watchdog renews for one.
//
// Run is the parent. It starts the actors, which are the same program under a hidden
// verb (Act). An actor takes the lock, stays inside until its parent ends the visit, and
// releases it. The parent counts the moments of both scenarios in leases.
//
// # Who is believed
//
//	the lock's holder and TTL   Redis, asked by the parent: FairMutex.Status
//	who waits, holds, rests     the actors, in JSON lines on their stdout
//	who was inside, and when    the order of these lines
//
// All actors share one pipe as their stdout, and the kernel puts their lines in one
// order. An actor says that it enters after the lock was granted, and that it leaves
// before it releases. So the referee needs no clock to find two of them inside at once.
//
// # A killed worker
//
// It cannot say that it leaves. The parent writes the death into the same pipe when the
// kernel reports that the process is gone. The one that the scenario kills cannot have
// written, because nobody has ended its visit. One that dies otherwise may have written:
// the referee accepts either value of the counter, until the next reader shows which it is.
//
// # No process is left over
//
// An actor leaves when its stdin ends, also if that is because the parent died. On
// Linux the kernel also kills it with its parent. The parent kills an actor that does
// not leave in time.
package demo
