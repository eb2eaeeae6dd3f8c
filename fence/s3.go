package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
)

// S3 guards objects in S3, and in stores with the same conditional writes. OpenS3 makes it.
//
// A guarded object begins with a line that has the token of its writer and a random text. Get returns what
// follows that line. S3 derives an ETag from the content alone. Without the line, an ETag could return, and
// a late write with that ETag would pass.
//
// Every writer must use the guard. Do not delete a guarded object, because its token would be lost. Write an
// empty value instead.
//
// The whole object is in memory, and Pass writes it again. Put a large value into an object of its own, with
// a key that no other hold uses. Write that key into the guarded object.
type S3 struct {
	bucket Bucket
}

var _ Store = S3{}

// Bucket is a bucket of S3 as the guard needs it. The folder bucket of redlatch has one for
// aws-sdk-go-v2 and one for minio-go, to copy.
type Bucket interface {
	// Get reads an object and its ETag. If the object does not exist, Get returns the ETag "" and no
	// error.
	Get(ctx context.Context, key string) (body []byte, etag string, err error)

	// PutIf writes an object if it still has this ETag, or if it does not exist and the ETag
	// is "". The request has the header If-Match with the ETag, or If-None-Match with *.
	// If the store refuses the condition, written is false and the error is nil. S3 then answers with
	// the status 412 or 409, or with 404 if the object does not exist.
	PutIf(ctx context.Context, key string, body []byte, etag string) (written bool, err error)
}

// OpenS3 returns the guard of a bucket. First it checks that the store refuses a write whose condition does
// not hold, because some stores ignore the conditions. If this store does, the error is ErrUnconditional.
// OpenS3 writes no object of the application.
//
// Probe is the key of an object for this check, which the application uses for nothing else. The object
// stays in the bucket. OpenS3 takes seven requests, and ends with ctx. Other errors are those of the bucket,
// wrapped, or ErrStale if probe is a guarded object of the application.
func OpenS3(ctx context.Context, bucket Bucket, probe string) (S3, error) {
	s := S3{bucket: bucket}
	if err := s.prove(ctx, probe); err != nil {
		return S3{}, fmt.Errorf("fence: probe %q: %w", probe, err)
	}
	return s, nil
}

// prove replaces an object, and then tries to write it under two conditions that are no longer
// true: the ETag from before, and that it does not exist.
func (s S3) prove(ctx context.Context, key string) error {
	const token = 1 // no hold has an older one
	if err := s.write(ctx, token, key, replaceBy(nil)); err != nil {
		return err
	}
	_, before, err := s.bucket.Get(ctx, key)
	if err != nil {
		return err
	}
	if err := s.write(ctx, token, key, replaceBy(nil)); err != nil {
		return err
	}
	for _, etag := range []string{before, ""} {
		written, err := s.bucket.PutIf(ctx, key, newStamp(token).before(nil), etag)
		if err != nil {
			return err
		}
		if written {
			return fmt.Errorf("%w: ETag %q", ErrUnconditional, etag)
		}
	}
	return nil
}

// Put writes an object if no newer token has written it.
//
// Put writes under the condition that the object is as Put has read it. If the store refuses that, Put
// reads and decides again, until ctx ends. So of two concurrent writes, the one with the newer token stays.
// Put ends earlier if the store refuses the same ETag ten times in a row.
//
// The errors are ErrStale, ErrNoToken, or those of the bucket, wrapped. After an error of the bucket, the
// value may have been written. It is safe to repeat the call. If a client library repeats requests by itself,
// the value may also have been written before ErrStale. The newer holder has then replaced it.
//
// If several goroutines of one holder write an object, the holder must order these writes itself.
func (s S3) Put(ctx context.Context, token int64, key string, value []byte) error {
	return failureOf(key, s.write(ctx, token, key, replaceBy(value)))
}

// Pass is Store.Pass. The resource is the key of an object. Pass writes the object with the new token and
// its old value, which is empty if the object does not exist. From then on the store refuses late writes of
// older holders, also those that are in flight: see Lock. Pass blocks and ends as Put does.
func (s S3) Pass(ctx context.Context, token int64, resource string) error {
	return failureOf(resource, s.write(ctx, token, resource, keep))
}

// Get returns the value of an object, and the newest token that has passed. The token is 0 if the object
// does not exist. Get needs no token and no lock. It returns an error for an object that was not written
// through the guard.
func (s S3) Get(ctx context.Context, key string) (value []byte, token int64, err error) {
	now, err := s.read(ctx, key)
	if err != nil {
		return nil, 0, failureOf(key, err)
	}
	return now.value, now.stamp.token, nil
}

// change returns the next value of an object, or false if its value may stay as it is.
type change func(now object, token int64) (next []byte, needed bool)

func replaceBy(value []byte) change {
	return func(object, int64) ([]byte, bool) { return value, true }
}

func keep(now object, token int64) ([]byte, bool) { return now.value, now.stamp.token != token }

// write changes an object under the condition that it is as write has read it, as often as that
// takes.
//
// Late requests do no harm. The condition of each is an ETag of a token that is not newer than its
// own. Once a newer token has written, no such ETag returns.
func (s S3) write(ctx context.Context, token int64, key string, change change) error {
	if err := check(token); err != nil {
		return err
	}
	own := newStamp(token)
	again := retry{backoff: pause.Backoff{First: shortestPause, Max: longestPause}}
	for {
		now, err := s.read(ctx, key)
		switch {
		case err != nil:
			return err
		case now.stamp == own: // a client library has sent the request twice, and the first reply was lost
			return nil
		case now.stamp.token > token:
			return &StaleError{Token: token, Last: now.stamp.token}
		}
		next, needed := change(now, token)
		if !needed {
			return nil
		}
		written, err := s.bucket.PutIf(ctx, key, own.before(next), now.etag)
		if written || err != nil {
			return err
		}
		if err := again.pause(ctx, now.etag); err != nil {
			return err
		}
	}
}

// object is a guarded object as it was read. It is zero if there is none.
type object struct {
	etag  string
	stamp stamp
	value []byte
}

// read reads a guarded object.
func (s S3) read(ctx context.Context, key string) (object, error) {
	if s.bucket == nil {
		return object{}, errors.New("S3 has no bucket: use OpenS3")
	}
	body, etag, err := s.bucket.Get(ctx, key)
	if err != nil || etag == "" {
		return object{}, err
	}
	stamp, value, err := parseStamp(body)
	return object{etag: etag, stamp: stamp, value: value}, err
}

// retry spaces the attempts of one write. The store refuses an attempt because another write came
// first, or is still at work.
type retry struct {
	backoff pause.Backoff
	etag    string // of the last attempt
	same    int    // attempts in a row with this ETag
}

// How often a store may refuse the ETag that it has returned, and how long a pause is at first and
// at most.
const (
	mostSame      = 10
	shortestPause = 10 * time.Millisecond
	longestPause  = time.Second
)

// pause waits after a refused attempt.
func (r *retry) pause(ctx context.Context, etag string) error {
	if etag != r.etag {
		r.etag, r.same = etag, 0
	}
	r.same++
	if r.same == mostSame {
		return errRefusesAll
	}
	return r.backoff.Wait(ctx)
}

// errRefusesAll means that the store does not accept its own ETags, or that another write never
// ends.
var errRefusesAll = errors.New("the store has refused the write again and again, though nobody has changed the object")

// failureOf says which object an error is about.
func failureOf(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fence: object %q: %w", key, err)
}
