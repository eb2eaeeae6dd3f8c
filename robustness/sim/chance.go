package sim

import "time"

// drawn is the source of the library's random numbers: a function of the time in the bubble. So it
// does not matter which goroutine asks first.
func drawn(n uint64) uint64 {
	x := uint64(time.Now().UnixNano()) + n*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return (x ^ x>>31) % n
}
