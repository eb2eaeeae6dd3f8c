package fence_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
)

func TestS3RefusesAStaleHolder(t *testing.T) {
	t.Parallel()
	guard := openS3(t, new(fakeBucket))
	t.Run("Put", func(t *testing.T) {
		fencetest.Refuses(t, func(token int64) error { return guard.Put(t.Context(), token, "a", []byte("x")) })
	})
	t.Run("Pass", func(t *testing.T) {
		fencetest.Refuses(t, func(token int64) error { return guard.Pass(t.Context(), token, "b") })
	})
}

// Goal: writers that meet leave the value of the newest among them.
func TestS3NeverGoesBack(t *testing.T) {
	t.Parallel()
	guard := openS3(t, new(fakeBucket))
	_, newest := fencetest.Crowd(t, 8, 25, func(token int64) error { return guard.Put(t.Context(), token, "a", []byte("x")) })
	wantObject(t, guard, "a", "x", newest)
}

func TestS3GetReturnsWhatPutHasWritten(t *testing.T) {
	t.Parallel()
	guard := openS3(t, new(fakeBucket))
	wantObject(t, guard, "a", "", 0)
	for i, value := range []string{"one", "", "a\nb", "redlatch-fence 99 x\n", strings.Repeat("\x00", 1000)} {
		token := int64(33 + 2*i)
		must(t, guard.Put(t.Context(), token, "a", []byte(value)))
		wantObject(t, guard, "a", value, token)
		must(t, guard.Pass(t.Context(), token+1, "a"))
		wantObject(t, guard, "a", value, token+1)
	}
}

// Goal: a holder that is paused between its read and its write does not overwrite what a newer
// one has written meanwhile, or has only locked.
func TestS3RefusesAWriteThatIsOnItsWay(t *testing.T) {
	t.Parallel()
	for what, newer := range map[string]func(context.Context, fence.S3) error{
		"the newer one writes":          func(ctx context.Context, s fence.S3) error { return s.Put(ctx, 34, "a", []byte("new")) },
		"the newer one only locks":      func(ctx context.Context, s fence.S3) error { return s.Pass(ctx, 34, "a") },
		"the newer one writes the same": func(ctx context.Context, s fence.S3) error { return s.Put(ctx, 34, "a", []byte("old")) },
		"the value goes and returns": func(ctx context.Context, s fence.S3) error {
			return errors.Join(s.Put(ctx, 34, "a", []byte("new")), s.Put(ctx, 34, "a", []byte("old")))
		},
	} {
		for _, exists := range []bool{true, false} {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				bucket := new(fakeBucket)
				guard := openS3(t, bucket)
				if exists {
					must(t, guard.Put(t.Context(), 33, "a", []byte("old")))
				}
				reached, resume := bucket.pauseOnce()
				late := make(chan error, 1)
				go func() { late <- guard.Put(t.Context(), 33, "a", []byte("late")) }()
				<-reached
				must(t, newer(t.Context(), guard))
				want, token, err := guard.Get(t.Context(), "a")
				must(t, err)
				close(resume)
				fencetest.WantStale(t, <-late, 33, 34)
				wantObject(t, guard, "a", string(want), token)
			})
		}
	}
}

// Goal: fence.Lock has the guard refuse a former holder that has read the object already.
func TestLockRaisesTheGuardInS3(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *redlatch.Client) {
		guard := openS3(t, new(fakeBucket))
		pass := func(ctx context.Context, token int64) error { return guard.Pass(ctx, token, "a") }
		former, err := fence.Lock(t.Context(), c.Mutex("a"), pass, redlatch.WithLease(time.Minute))
		must(t, err)
		must(t, guard.Put(t.Context(), former.Token(), "a", []byte("old")))
		time.Sleep(time.Minute) // the holder is paused
		newcomer, err := fence.Lock(t.Context(), c.Mutex("a"), pass)
		must(t, err)
		fencetest.WantStale(t, guard.Put(t.Context(), former.Token(), "a", []byte("late")), former.Token(), newcomer.Token())
		wantObject(t, guard, "a", "old", newcomer.Token())
		must(t, newcomer.Unlock(t.Context()))
	})
}

// Goal: a lost reply is an error of the bucket, and the call may be repeated.
func TestS3PutMayBeRepeatedAfterALostReply(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{true, false} {
		bucket := new(fakeBucket)
		guard := openS3(t, bucket)
		lost := false
		bucket.refuses = !written
		bucket.lose = func(bool) bool { defer func() { lost = true }(); return !lost }
		if err := guard.Put(t.Context(), 33, "a", []byte("x")); !errors.Is(err, errNoReply) {
			t.Errorf("Put returned %v, want the error of the bucket", err)
		}
		bucket.refuses = false
		must(t, guard.Put(t.Context(), 33, "a", []byte("x")))
		wantObject(t, guard, "a", "x", 33)
	}
}

// twice is a bucket whose client library repeats each write after a lost reply.
type twice struct{ *fakeBucket }

func (b twice) PutIf(ctx context.Context, key string, body []byte, etag string) (bool, error) {
	if _, err := b.fakeBucket.PutIf(ctx, key, body, etag); err != nil {
		return false, err
	}
	return b.fakeBucket.PutIf(ctx, key, body, etag)
}

// Goal: the refusal of a repeated request is not taken for the write of somebody else.
func TestS3KnowsItsOwnWrite(t *testing.T) {
	t.Parallel()
	bucket := new(fakeBucket)
	guard := openS3(t, twice{bucket})
	bucket.puts = 0
	must(t, guard.Put(t.Context(), 33, "a", []byte("x")))
	wantObject(t, guard, "a", "x", 33)
	if bucket.puts != 2 {
		t.Errorf("the bucket got %d requests, want the first and its repetition", bucket.puts)
	}
}

func TestS3PassWritesOnceForEachToken(t *testing.T) {
	t.Parallel()
	bucket := new(fakeBucket)
	guard := openS3(t, bucket)
	bucket.puts = 0
	for range 3 {
		must(t, guard.Pass(t.Context(), 33, "a"))
	}
	if bucket.puts != 1 {
		t.Errorf("the bucket got %d writes, want 1", bucket.puts)
	}
}

// Goal: a store that ignores one of the conditions is found out before it is used.
func TestOpenS3FindsAStoreThatIgnoresConditions(t *testing.T) {
	t.Parallel()
	for what, ignores := range map[string]func(etag string) bool{
		"all":           func(string) bool { return true },
		"If-Match":      func(etag string) bool { return etag != "" },
		"If-None-Match": func(etag string) bool { return etag == "" },
	} {
		bucket := &fakeBucket{ignores: ignores}
		for range 2 { // the probe is there from the first time
			if _, err := fence.OpenS3(t.Context(), bucket, "probe"); !errors.Is(err, fence.ErrUnconditional) {
				t.Errorf("%s ignored: %v, want ErrUnconditional", what, err)
			}
		}
		if len(bucket.objects) != 1 {
			t.Errorf("%s ignored: OpenS3 has written %d objects", what, len(bucket.objects))
		}
	}
}

func TestOpenS3LeavesTheObjectsOfOthersAlone(t *testing.T) {
	t.Parallel()
	bucket := new(fakeBucket)
	guard := openS3(t, bucket)
	openS3(t, bucket) // the probe may be there
	must(t, guard.Put(t.Context(), 33, "a", []byte("x")))
	bucket.objects["foreign"] = []byte("x")
	for _, key := range []string{"a", "foreign"} {
		before := bucket.objects[key]
		if _, err := fence.OpenS3(t.Context(), bucket, key); err == nil || errors.Is(err, fence.ErrUnconditional) {
			t.Errorf("%s as the probe: %v", key, err)
		}
		if !bytes.Equal(bucket.objects[key], before) {
			t.Errorf("%s was overwritten", key)
		}
	}
}

func TestS3RefusesAnObjectThatIsNotGuarded(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "\n", "x", "redlatch-fence 33 abc", "redlatch-fence 033 abc\n", "redlatch-fence 0 abc\n",
		"redlatch-fence -1 abc\n", "redlatch-fence 33\n", "redlatch-fence 33 \n", "redlatch-fence  33 abc\n", "redlatch-fence 33 abc d\n",
		"redlatch-fence 9223372036854775808 abc\n", "redlatch-fence 33 " + strings.Repeat("a", 1000) + "\n"} {
		bucket := new(fakeBucket)
		guard := openS3(t, bucket)
		bucket.objects["a"] = []byte(body)
		_, _, err := guard.Get(t.Context(), "a")
		for call, err := range map[string]error{
			"Get": err, "Put": guard.Put(t.Context(), 34, "a", nil), "Pass": guard.Pass(t.Context(), 34, "a"),
		} {
			if err == nil || !strings.Contains(err.Error(), "not written through the guard") {
				t.Errorf("%s of %.40q: %v", call, body, err)
			}
		}
		if string(bucket.objects["a"]) != body {
			t.Errorf("%.40q was overwritten", body)
		}
	}
}

// Goal: no call goes on for ever, whatever the store answers.
func TestS3GivesUpOnAStoreThatRefusesEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bucket := new(fakeBucket)
		guard := openS3(t, bucket)
		bucket.refuses = true
		err := guard.Put(context.Background(), 33, "a", nil)
		if err == nil || !strings.Contains(err.Error(), "again and again") || errors.Is(err, fence.ErrStale) {
			t.Errorf("Put returned %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := guard.Put(ctx, 33, "a", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Put returned %v, want the end of its context", err)
		}
	})
}

// Goal: a conflict with a write that then fails is no reason to give up.
func TestS3TriesAgainAfterAConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bucket := new(fakeBucket)
		guard := openS3(t, bucket)
		bucket.refuses = true
		time.AfterFunc(100*time.Millisecond, func() {
			bucket.mu.Lock()
			defer bucket.mu.Unlock()
			bucket.refuses = false
		})
		must(t, guard.Put(t.Context(), 33, "a", []byte("x")))
		wantObject(t, guard, "a", "x", 33)
	})
}

// Goal: writers that come first, however many, do not make a newer holder give up.
func TestS3TriesUntilItIsThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bucket := new(fakeBucket)
		guard := openS3(t, bucket)
		former, busy := 50, false
		bucket.afterGet = func() {
			if former > 0 && !busy {
				busy = true // the former holder reads, too
				former--
				must(t, guard.Put(t.Context(), 33, "a", []byte("old")))
				busy = false
			}
		}
		must(t, guard.Put(t.Context(), 34, "a", []byte("new")))
		wantObject(t, guard, "a", "new", 34)
		if former > 0 {
			t.Errorf("the former holder was to write %d times more", former)
		}
	})
}

func TestS3NeedsABucket(t *testing.T) {
	t.Parallel()
	if err := (fence.S3{}).Put(t.Context(), 33, "a", nil); err == nil || errors.Is(err, fence.ErrStale) {
		t.Errorf("Put returned %v", err)
	}
}
