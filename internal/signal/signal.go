// Package signal wakes a goroutine by a channel with a capacity of one.
package signal

// Send sends a signal without blocking. A signal that nobody has received yet stands for this one
// as well.
func Send(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
