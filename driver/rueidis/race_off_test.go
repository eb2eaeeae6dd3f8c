//go:build !race

package rueidis_test

const raceEnabled = false
