package redlatchotel

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/redlatch/redlatch"
)

// The attributes of databases are those of the semantic conventions 1.37. Their Go package would require a newer
// OpenTelemetry than this module does: https://opentelemetry.io/docs/specs/semconv/database/redis/
func TestAttributesAreThoseOfTheConventions(t *testing.T) {
	for got, want := range map[attribute.Key]attribute.Key{
		databaseKey:  "db.system.name",
		operationKey: "db.operation.name",
		errorKey:     "error.type",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Goal: holders of the past are forgotten, the oldest first.
func TestHoldersOfThePastAreForgotten(t *testing.T) {
	tel, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, span := noop.NewTracerProvider().Tracer("").Start(t.Context(), "")
	event := func(i int) redlatch.Event {
		return redlatch.Event{Lock: "job", Owner: string(rune('a' + i)), Since: time.Unix(int64(i), 0)}
	}
	for i := range 3 * mostEnded {
		tel.holds.put(event(i), span)
		if tel.holds.take(event(i)) == nil {
			t.Fatalf("hold %d is not known", i)
		}
	}
	if len(tel.holds.live) > 0 || len(tel.holds.ended) != mostEnded {
		t.Errorf("%d live, %d ended", len(tel.holds.live), len(tel.holds.ended))
	}
	if _, known := tel.holds.ended[holder{"job", event(3*mostEnded - 1).Owner}]; !known {
		t.Error("the last one is forgotten")
	}
}
