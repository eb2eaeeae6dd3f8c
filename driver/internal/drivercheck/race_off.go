//go:build !race

package drivercheck

// RaceEnabled says whether the race detector is on. It allocates, too.
const RaceEnabled = false
