package bucket

import (
	"bytes"
	"context"
	"io"

	"github.com/minio/minio-go/v7"
)

// MinIO is a bucket of a client of minio-go. It implements fence.Bucket.
type MinIO struct {
	Client *minio.Client
	Bucket string
}

// Get reads an object and its ETag, "" if it does not exist.
func (b MinIO) Get(ctx context.Context, key string) ([]byte, string, error) {
	content, object, _, err := minio.Core{Client: b.Client}.GetObject(ctx, b.Bucket, key, minio.GetObjectOptions{})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer content.Close()
	body, err := io.ReadAll(content)
	return body, object.ETag, err
}

// PutIf writes an object if it has this ETag, or if it does not exist and the ETag is "".
func (b MinIO) PutIf(ctx context.Context, key string, body []byte, etag string) (bool, error) {
	var condition minio.PutObjectOptions
	if etag == "" {
		condition.SetMatchETagExcept("*")
	} else {
		condition.SetMatchETag(etag)
	}
	_, err := minio.Core{Client: b.Client}.PutObject(ctx, b.Bucket, key, bytes.NewReader(body), int64(len(body)), "", "", condition)
	switch minio.ToErrorResponse(err).Code {
	case minio.PreconditionFailed, "ConditionalRequestConflict", minio.NoSuchKey:
		return false, nil
	}
	return err == nil, err
}
