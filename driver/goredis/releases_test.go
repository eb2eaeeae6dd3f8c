package goredis_test

import (
	"reflect"
	"testing"

	"github.com/redis/go-redis/v9"
)

// What these tests use of go-redis and its oldest supported release does not have. It is looked up
// when the tests run, so that one source is compiled with all releases.

// leaveNamesAlone sets MaintNotificationsConfig.Mode to "disabled". Otherwise go-redis looks names up.
// Older releases do not have the field, and look nothing up.
func leaveNamesAlone(o *redis.ClusterOptions) {
	if field := reflect.ValueOf(o).Elem().FieldByName("MaintNotificationsConfig"); field.IsValid() {
		field.Set(reflect.New(field.Type().Elem()))
		field.Elem().FieldByName("Mode").SetString("disabled")
	}
}

// inOnePool makes a client send pipelines through its ordinary pool, as all older releases do.
func inOnePool(o redis.Options) *redis.Options {
	if field := reflect.ValueOf(&o).Elem().FieldByName("PipelinePoolSize"); field.IsValid() {
		field.SetInt(-1)
	}
	return &o
}

// autoPipeliner is the AutoPipeliner of a client, and false if this release has none.
func autoPipeliner(t *testing.T, c *redis.Client) (redis.UniversalClient, bool) {
	t.Helper()
	method := reflect.ValueOf(c).MethodByName("AutoPipeline")
	if !method.IsValid() {
		return nil, false
	}
	made := method.Call(nil)
	if err, failed := made[1].Interface().(error); failed {
		t.Fatal(err)
	}
	pipeliner, ok := made[0].Interface().(redis.UniversalClient)
	return pipeliner, ok
}
