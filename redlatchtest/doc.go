// Package redlatchtest lets an application test what it does when Redis fails, or when its lock or permit is
// lost. It has a server in this process, clients of that server, a dialer for the application's own client, and
// faults: Lose, Expire, Freeze, Deny and Delay.
//
// It works inside a testing/synctest bubble, where no real time passes, and outside of one. To use a bubble,
// call NewServer inside it. The server, its clients and the faults end with the test.
//
// The clients are real: they have leases, renewals and deadlines. Each client stands for a process.
package redlatchtest
