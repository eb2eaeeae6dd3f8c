package script

import (
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	readAcquireScript  = load("read_acquire", "token")
	readReleaseScript  = load("read_release", "announce")
	writeAcquireScript = load("write_acquire", "token")
	writeReleaseScript = load("write_release", "announce")
	rwForceScript      = load("rw_force", "announce")
	rwStatusScript     = load("rw_status")
)

// AcquireRead takes the read side of lock for owner, so that the owner's count is
// count afterwards. ReadAcquired reads the reply.
func AcquireRead(lock, owner string, lease time.Duration, count int) Call {
	return readAcquireScript.call(2, lock, protocol.ReadTimeoutKey(lock, owner, count),
		owner, protocol.WriterField(owner), millis(lease), strconv.Itoa(count))
}

// ReleaseRead lowers the owner's count from held to remaining. ReadReleased reads the
// reply.
func ReleaseRead(lock, channel, owner string, held, remaining int, lease time.Duration, via protocol.Messages) Call {
	words := []string{lock, channel}
	for hold := held; hold > remaining; hold-- {
		words = append(words, protocol.ReadTimeoutKey(lock, owner, hold))
	}
	for hold := 1; hold <= remaining; hold++ {
		words = append(words, protocol.ReadTimeoutKey(lock, owner, hold))
	}
	keys := len(words)
	words = append(words, owner, strconv.Itoa(remaining), millis(lease), protocol.ReadTimeoutPrefix(lock), via.Unlocked())
	return readReleaseScript.call(keys, words...)
}

// AcquireWrite takes the write side of lock for owner, so that the owner's count is
// count afterwards. ReadAcquired reads the reply.
func AcquireWrite(lock, owner string, lease time.Duration, count int) Call {
	return writeAcquireScript.call(1, lock, protocol.WriterField(owner), millis(lease), strconv.Itoa(count), protocol.ReadTimeoutPrefix(lock))
}

// ReleaseWrite lowers the owner's count to remaining. ReadReleased reads the reply.
func ReleaseWrite(lock, channel, owner string, remaining int, lease time.Duration, via protocol.Messages) Call {
	return writeReleaseScript.call(2, lock, channel,
		protocol.WriterField(owner), strconv.Itoa(remaining), millis(lease), protocol.ReadTimeoutPrefix(lock), via.ReadUnlocked())
}

// ForceRW frees lock, whichever side holds it. ReadForced reads the reply.
func ForceRW(lock, channel string, via protocol.Messages) Call {
	return rwForceScript.call(2, lock, channel, protocol.ReadTimeoutPrefix(lock), via.Unlocked(), via.ReadUnlocked())
}

// StatusRW reads lock and the counter of its fencing tokens.
func StatusRW(lock, tokens string) Call {
	return rwStatusScript.call(2, lock, tokens, protocol.ReadTimeoutPrefix(lock))
}

// RWState is a read-write lock at one moment.
type RWState struct {
	TTL     time.Duration // negative without expiry
	Token   int64
	Mode    string // "read", "write", or "" when free
	Holders []RWHolder
}

// RWHolder is one field of the lock.
type RWHolder struct {
	Field string
	Count string
	TTL   time.Duration
}

// ReadStatusRW reads the reply of StatusRW.
func ReadStatusRW(r driver.Reply) (RWState, error) {
	if r.Err != nil {
		return RWState{}, r.Err
	}
	if len(r.Array) < 3 || len(r.Array)%3 != 0 {
		return RWState{}, unexpected(rwStatusScript, r)
	}
	token, err := strconv.ParseInt(r.Array[1].Str, 10, 64)
	if err != nil {
		return RWState{}, unexpected(rwStatusScript, r)
	}
	state := RWState{TTL: time.Duration(r.Array[0].Int) * time.Millisecond, Token: token, Mode: r.Array[2].Str}
	for i := 3; i < len(r.Array); i += 3 {
		state.Holders = append(state.Holders, RWHolder{
			Field: r.Array[i].Str,
			Count: r.Array[i+1].Str,
			TTL:   time.Duration(r.Array[i+2].Int) * time.Millisecond,
		})
	}
	return state, nil
}
