package script

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var counterInspectScript = load("counter_inspect", "shape", "note", "counter")

// InspectCounter reads a counter, and names that many leased permits in use at most. Alone says that the
// sorted set of permits may lie in another slot of the cluster, and is not read.
func InspectCounter(name string, most int, alone bool) Call {
	limit := strconv.Itoa(most)
	if alone {
		return counterInspectScript.call(1, name, limit)
	}
	return counterInspectScript.call(2, name, protocol.PermitsInUse(name), limit)
}

// InspectedCounter is a counter at one moment.
type InspectedCounter struct {
	Now     time.Time     // by the server's clock
	There   bool          // the counter exists
	Count   int64         // its value
	TTL     time.Duration // negative without expiry
	Used    int           // permits in use, with those that have expired; -1 if that key is no sorted set
	Expired int           // permits that have expired
	Permits []InspectedPermit
}

// InspectedPermit is a leased permit in use.
type InspectedPermit struct {
	ID  string    // as it stands in Redis
	End time.Time // when it expires; zero for never
	Noted
}

// ReadInspectedCounter reads the reply of InspectCounter.
func ReadInspectedCounter(r driver.Reply) (InspectedCounter, error) {
	all, err := list(counterInspectScript, r, 6, nothing)
	if err != nil {
		return InspectedCounter{}, err
	}
	found := InspectedCounter{
		Now: moment(all[0].Int), TTL: duration(all[1].Int), There: all[2].Str != "", Used: int(all[3].Int), Expired: int(all[4].Int),
	}
	permits := all[5].Array
	if found.There {
		found.Count, err = strconv.ParseInt(all[2].Str, 10, 64)
	}
	if err != nil || len(permits)%3 != 0 {
		return InspectedCounter{}, unexpected(counterInspectScript, r)
	}
	for group := range slices.Chunk(permits, 3) {
		one := InspectedPermit{ID: group[0].Str, Noted: readNoted(group[2])}
		if at, never, ok := Moment(group[1].Str); ok && !never {
			one.End = at
		}
		found.Permits = append(found.Permits, one)
	}
	return found, nil
}
