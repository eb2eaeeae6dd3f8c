package main

import (
	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
)

// kind is the kind of lock that run takes: the mutex, unless a flag says otherwise.
type kind struct {
	shared    bool // the read side of a read-write lock
	exclusive bool // its write side
	fair      bool // the fair mutex
}

func (k *kind) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&k.shared, "shared", false, "take the read side of a read-write lock: many readers, or one writer")
	flags.BoolVar(&k.exclusive, "exclusive", false, "take the write side of a read-write lock")
	flags.BoolVar(&k.fair, "fair", false, "take a fair lock, which serves all machines in the order of arrival")
}

// lock is the lock called name.
func (k *kind) lock(client *redlatch.Client, name string) redlatch.Lock {
	switch {
	case k.shared:
		return client.RWMutex(name).RLocker()
	case k.exclusive:
		return client.RWMutex(name)
	case k.fair:
		return client.FairMutex(name)
	}
	return client.Mutex(name)
}
