package fence_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redlatch/redlatch/fence"
)

// errNoReply is what a bucket returns whose reply was lost.
var errNoReply = errors.New("the reply was lost")

// fakeBucket is a bucket in memory. As in S3, an ETag is the MD5 digest of the content.
type fakeBucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	puts    int

	// afterGet runs when a read has its result.
	afterGet func()
	// lose says whether the reply of a write is lost.
	lose func(written bool) bool
	// ignores says whether the bucket ignores the condition of a write with this ETag.
	ignores func(etag string) bool
	// refuses has the bucket refuse every write.
	refuses bool
}

func (b *fakeBucket) Get(_ context.Context, key string) ([]byte, string, error) {
	b.mu.Lock()
	body, etag := slices.Clone(b.objects[key]), b.etag(key)
	b.mu.Unlock()
	if b.afterGet != nil {
		b.afterGet()
	}
	return body, etag, nil
}

func (b *fakeBucket) etag(key string) string {
	body, there := b.objects[key]
	if !there {
		return ""
	}
	digest := md5.Sum(body)
	return `"` + hex.EncodeToString(digest[:]) + `"`
}

func (b *fakeBucket) PutIf(_ context.Context, key string, body []byte, etag string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.puts++
	written := !b.refuses && (b.etag(key) == etag || b.ignores != nil && b.ignores(etag))
	if written {
		if b.objects == nil {
			b.objects = make(map[string][]byte)
		}
		b.objects[key] = slices.Clone(body)
	}
	if b.lose != nil && b.lose(written) {
		return false, errNoReply
	}
	return written, nil
}

// pauseOnce has the next read wait, with its result, until resume is closed. It closes reached
// when that read waits.
func (b *fakeBucket) pauseOnce() (reached <-chan struct{}, resume chan<- struct{}) {
	waits, goes := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	b.afterGet = func() {
		if first.CompareAndSwap(false, true) {
			close(waits)
			<-goes
		}
	}
	return waits, goes
}

// openS3 returns the guard of a bucket.
func openS3(t *testing.T, bucket fence.Bucket) fence.S3 {
	t.Helper()
	guard, err := fence.OpenS3(t.Context(), bucket, "probe")
	must(t, err)
	return guard
}

func wantObject(t *testing.T, guard fence.S3, key, value string, token int64) {
	t.Helper()
	got, by, err := guard.Get(t.Context(), key)
	must(t, err)
	if string(got) != value || by != token {
		t.Errorf("%s is %q of token %d, want %q of token %d", key, got, by, value, token)
	}
}
