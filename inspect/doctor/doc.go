// Package doctor finds what makes locks unsafe on a Redis, and says how to mend it.
//
// It reads settings and counters, measures a few round trips, and asks the server which rights the user has.
// It writes nothing. A setting that the server refuses to show has the severity Unknown, and the check says
// what to ask the provider for. If a server stops answering, its examination ends within one command
// timeout of the driver.
//
// Each Check has a code, which is also the name of its section in docs/doctor.md.
package doctor
