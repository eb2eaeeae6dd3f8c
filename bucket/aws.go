// Package bucket connects fence.S3 to a client of S3. Copy the file for your S3 client into your program:
// each file works alone. The module is not for import. So no version of redlatch decides which version of
// an S3 client you use.
package bucket

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// AWS is a bucket of a client of aws-sdk-go-v2. It implements fence.Bucket.
type AWS struct {
	Client *s3.Client
	Bucket string
}

// Get reads an object and its ETag, "" if it does not exist.
func (b AWS) Get(ctx context.Context, key string) ([]byte, string, error) {
	object, err := b.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Bucket, Key: &key})
	if _, absent := errors.AsType[*types.NoSuchKey](err); absent {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer object.Body.Close()
	body, err := io.ReadAll(object.Body)
	return body, aws.ToString(object.ETag), err
}

// PutIf writes an object if it has this ETag, or if it does not exist and the ETag is "".
func (b AWS) PutIf(ctx context.Context, key string, body []byte, etag string) (bool, error) {
	put := &s3.PutObjectInput{Bucket: &b.Bucket, Key: &key, Body: bytes.NewReader(body)}
	if etag == "" {
		put.IfNoneMatch = aws.String("*")
	} else {
		put.IfMatch = &etag
	}
	_, err := b.Client.PutObject(ctx, put)
	if refused, ok := errors.AsType[smithy.APIError](err); ok {
		switch refused.ErrorCode() {
		case "PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey":
			return false, nil
		}
	}
	return err == nil, err
}
