// Package gocron makes github.com/go-co-op/gocron/v2 run each job on one of many machines. A Locker takes a
// lock for each run. An Elector runs all jobs on the machine that leads.
//
// The package is a module of its own, so that only programs that use gocron require gocron.
package gocron
