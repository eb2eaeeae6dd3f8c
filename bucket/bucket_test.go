package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/redlatch/redlatch/bucket"
	"github.com/redlatch/redlatch/fence"
)

// eachClient runs a test with every client library, behind a network that can lose a reply.
func eachClient(t *testing.T, test func(t *testing.T, b fence.Bucket, fault *lostReply)) {
	t.Helper()
	t.Run("aws-sdk-go-v2", func(t *testing.T) {
		t.Parallel()
		fault := new(lostReply)
		test(t, theServer.aws(fault), fault)
	})
	t.Run("minio-go", func(t *testing.T) {
		t.Parallel()
		fault := new(lostReply)
		test(t, theServer.minio(t, fault), fault)
	})
}

// Goal: a call to a server that accepts connections and answers nothing ends with its context.
func TestABucketWhoseServerIsSilent(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "s3-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	silent := server{socket: filepath.Join(dir, "s3.sock")}
	listener, err := net.Listen("unix", silent.socket) // the kernel accepts for it
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	for name, b := range map[string]fence.Bucket{"aws-sdk-go-v2": silent.aws(nil), "minio-go": silent.minio(t, nil)} {
		for what, call := range map[string]func(ctx context.Context) error{
			"Get": func(ctx context.Context) error { _, _, err := b.Get(ctx, "key"); return err },
			"PutIf": func(ctx context.Context) error {
				written, err := b.PutIf(ctx, "key", []byte("x"), "")
				if written {
					t.Errorf("%s: it was written", name)
				}
				return err
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			began := time.Now()
			err := call(ctx)
			cancel()
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 20*time.Second {
				t.Errorf("%s by %s: %v after %v", what, name, err, took)
			}
		}
	}
}

// Goal: each client tells a refused condition from a failure, and an absent object from both.
func TestABucketWritesUnderItsCondition(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, b fence.Bucket, _ *lostReply) {
		ctx, key := t.Context(), newKey(t)
		put := func(body, etag string, want bool) {
			t.Helper()
			if written, err := b.PutIf(ctx, key, []byte(body), etag); written != want || err != nil {
				t.Errorf("PutIf %q returned %v, %v, want %v", etag, written, err, want)
			}
		}
		get := func(want string) (etag string) {
			t.Helper()
			body, etag, err := b.Get(ctx, key)
			if string(body) != want || err != nil {
				t.Errorf("Get returned %q, %v, want %q", body, err, want)
			}
			return etag
		}
		if etag := get(""); etag != "" {
			t.Errorf("an absent object has the ETag %q", etag)
		}
		put("late", `"0123456789abcdef0123456789abcdef"`, false) // the object was deleted
		put("one", "", true)
		put("late", "", false)
		first := get("one")
		put("two", first, true)
		put("late", first, false)
		get("two")
	})
}

func TestABucketReportsFailures(t *testing.T) {
	t.Parallel()
	noBucket, noBucketEither := theServer.aws(nil), theServer.minio(t, nil)
	noBucket.Bucket, noBucketEither.Bucket = "none", "none"
	for _, b := range []fence.Bucket{noBucket, noBucketEither} {
		if _, _, err := b.Get(t.Context(), "a"); err == nil {
			t.Errorf("%T: Get from a bucket that does not exist returned no error", b)
		}
		for _, etag := range []string{"", `"0123456789abcdef0123456789abcdef"`} {
			if written, err := b.PutIf(t.Context(), "a", nil, etag); written || err == nil {
				t.Errorf("%T: PutIf into a bucket that does not exist returned %v, %v", b, written, err)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, b := range []fence.Bucket{theServer.aws(nil), theServer.minio(t, nil)} {
		if _, _, err := b.Get(ended, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("%T: Get returned %v, want the end of its context", b, err)
		}
		if written, err := b.PutIf(ended, "a", nil, ""); written || !errors.Is(err, context.Canceled) {
			t.Errorf("%T: PutIf returned %v, %v, want the end of its context", b, written, err)
		}
	}
}

// Goal: what package fence assumes of S3. The condition of a write does not see metadata, so a
// token there guards nothing.
func TestAnETagDoesNotChangeWithTheMetadata(t *testing.T) {
	t.Parallel()
	b, key := theServer.aws(nil), newKey(t)
	put := func(token, body string, ifMatch *string) *s3.PutObjectOutput {
		t.Helper()
		out, err := b.Client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.Bucket, Key: &key,
			Body: strings.NewReader(body), Metadata: map[string]string{"token": token}, IfMatch: ifMatch})
		must(t, err)
		return out
	}
	read := put("33", "old", nil)
	put("34", "new", nil)
	put("34", "old", nil)
	put("33", "late", read.ETag)
	now, err := b.Client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &b.Bucket, Key: &key})
	must(t, err)
	if now.Metadata["token"] != "33" {
		t.Errorf("the token is %q: S3 has refused a late write by its metadata", now.Metadata["token"])
	}
}

// Goal: the guard refuses on a real server as in memory.
func TestTheGuardRefusesAStaleHolder(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, b fence.Bucket, _ *lostReply) {
		guard, ctx, key := openS3(t, b), t.Context(), newKey(t)
		must(t, guard.Put(ctx, 33, key, []byte("one")))
		must(t, guard.Put(ctx, 33, key, []byte("two"))) // the same holder
		must(t, guard.Pass(ctx, 34, key))
		wantObject(t, guard, key, "two", 34)
		for _, err := range []error{guard.Put(ctx, 33, key, []byte("late")), guard.Pass(ctx, 33, key)} {
			if stale, ok := errors.AsType[*fence.StaleError](err); !ok || *stale != (fence.StaleError{Token: 33, Last: 34}) {
				t.Errorf("the former holder got %v, want ErrStale", err)
			}
		}
		must(t, guard.Put(ctx, 34, key, []byte("three")))
		wantObject(t, guard, key, "three", 34)
	})
}

// Goal: a client library that sends a write again after a lost reply does not make the guard
// refuse its own holder. One that does not is told, and the call may be repeated.
func TestALostReplyDoesNoHarm(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, b fence.Bucket, fault *lostReply) {
		guard, key := openS3(t, b), newKey(t)
		for _, value := range []string{"one", "two"} {
			fault.arm()
			must(t, guard.Put(t.Context(), 33, key, []byte(value)))
			wantObject(t, guard, key, value, 33)
			if fault.writes != 2 {
				t.Errorf("the store got %d writes, want the first and its repetition", fault.writes)
			}
		}
	})
	t.Run("no repetition", func(t *testing.T) {
		t.Parallel()
		fault := new(lostReply)
		b := theServer.aws(fault, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
		guard, key := openS3(t, b), newKey(t)
		fault.arm()
		if err := guard.Put(t.Context(), 33, key, []byte("one")); err == nil || errors.Is(err, fence.ErrStale) {
			t.Errorf("Put returned %v, want the error of the network", err)
		}
		must(t, guard.Put(t.Context(), 33, key, []byte("one")))
		wantObject(t, guard, key, "one", 33)
	})
}

// deaf is a store that ignores conditions, as older releases of some stores do.
type deaf struct{ bucket.AWS }

func (b deaf) PutIf(ctx context.Context, key string, body []byte, _ string) (bool, error) {
	_, err := b.Client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.Bucket, Key: &key, Body: bytes.NewReader(body)})
	return err == nil, err
}

func TestAStoreThatIgnoresConditionsIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := fence.OpenS3(t.Context(), deaf{theServer.aws(nil)}, newKey(t)); !errors.Is(err, fence.ErrUnconditional) {
		t.Errorf("OpenS3 returned %v, want ErrUnconditional", err)
	}
}

// Goal: of writers that meet, the newest stays. Nobody passes after somebody newer is through.
func TestWritersThatMeetNeverGoBack(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, b fence.Bucket, _ *lostReply) {
		guard, key := openS3(t, b), newKey(t)
		var through, refused atomic.Int64
		var writers sync.WaitGroup
		for range 6 {
			writers.Go(func() {
				for range 15 {
					floor := through.Load()
					token := max(1, floor-3) + rand.Int64N(8)
					err := guard.Put(t.Context(), token, key, []byte("x"))
					switch {
					case errors.Is(err, fence.ErrStale):
						refused.Add(1)
					case err != nil:
						t.Error(err)
					case token < floor:
						t.Errorf("token %d passed after %d was through", token, floor)
					default:
						raise(&through, token)
					}
				}
			})
		}
		writers.Wait()
		if refused.Load() == 0 {
			t.Error("nobody was refused: this proves nothing")
		}
		wantObject(t, guard, key, "x", through.Load())
	})
}

func raise(to *atomic.Int64, token int64) {
	for now := to.Load(); now < token && !to.CompareAndSwap(now, token); now = to.Load() {
	}
}
