//go:build race

package rueidis_test

const raceEnabled = true
