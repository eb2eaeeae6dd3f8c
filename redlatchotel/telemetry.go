package redlatchotel

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clientstats"
)

// scope names the instrumentation.
const scope = "github.com/redlatch/redlatch/redlatchotel"

// Options change what is exported. The zero value is ready to use.
type Options struct {
	// TracerProvider makes the spans. Default: the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics. Default: the global one.
	MeterProvider metric.MeterProvider
	// Attributes stand on every span and every metric, for example server.address.
	Attributes []attribute.KeyValue
	// ByName adds redlatch.lock.name to the metrics. It returns its value for the name of a lock,
	// such as "order" for "order:4711". The SDK bounds the number of values. Default: metrics have
	// no names.
	ByName func(lock string) string
}

// Telemetry is an observer of any number of clients. It is safe for concurrent use.
type Telemetry struct {
	options Options
	tracer  trace.Tracer
	instruments
	holds   holds
	clients clientstats.Clients
}

var _ redlatch.Observer = (*Telemetry)(nil)

// New returns telemetry to be the observer of clients. The error is that of a MeterProvider which
// refuses an instrument.
func New(o Options) (*Telemetry, error) {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	t, meter := &Telemetry{options: o, tracer: o.TracerProvider.Tracer(scope)}, o.MeterProvider.Meter(scope)
	t.holds.live, t.holds.ended = make(map[holder][]hold), make(map[holder]ended)
	var err error
	if t.instruments, err = newInstruments(meter); err != nil {
		return nil, err
	}
	return t, export(&t.clients, meter, o.Attributes)
}

// Watch exports the Stats of a client, until it is closed. Those of several clients are added up, also those of
// several observers with one MeterProvider. The two gauges have the attribute redlatch.observer, the number of the
// observer in this process. All are zero or absent without Watch.
func (t *Telemetry) Watch(c *redlatch.Client) { t.clients.Add(c) }

// The attributes. Those of databases are as the semantic conventions name them.
const (
	lockName   = attribute.Key("redlatch.lock.name")
	lockKind   = attribute.Key("redlatch.lock.kind")
	ownerKey   = attribute.Key("redlatch.owner")
	noteKey    = attribute.Key("redlatch.note")
	recallKey  = attribute.Key("redlatch.recall")
	holderKey  = attribute.Key("redlatch.holder")
	outcomeKey = attribute.Key("redlatch.outcome")
	endKey     = attribute.Key("redlatch.end")
	reasonKey  = attribute.Key("redlatch.loss.reason")
	leftKey    = attribute.Key("redlatch.renewal.margin")

	observerKey = attribute.Key("redlatch.observer")

	databaseKey  = attribute.Key("db.system.name")
	operationKey = attribute.Key("db.operation.name")
	errorKey     = attribute.Key("error.type")
)

// Observe takes note of an event. It does not block.
func (t *Telemetry) Observe(ctx context.Context, e redlatch.Event) {
	t.measure(ctx, e)
	switch e.Kind {
	case redlatch.EventAcquired:
		t.traceWait(ctx, e)
		t.beginHold(ctx, e)
	case redlatch.EventNotAcquired:
		t.traceWait(ctx, e)
	case redlatch.EventReleased, redlatch.EventDetached:
		t.endHold(t.holds.take(e), e)
	case redlatch.EventClosed, redlatch.EventLost:
		for _, span := range t.holds.takeAll(e) {
			t.endHold(span, e)
		}
	case redlatch.EventRenewed:
		if e.Late {
			for _, span := range t.holds.of(e) {
				span.AddEvent("late renewal", trace.WithAttributes(leftKey.Float64(e.Left.Seconds())))
			}
		}
	case redlatch.EventRecalled:
		for _, span := range t.holds.of(e) {
			span.AddEvent("recalled", trace.WithAttributes(text(recallKey, e.Err.Error())))
		}
	}
}

// traceWait makes the span of a wait that is over.
func (t *Telemetry) traceWait(ctx context.Context, e redlatch.Event) {
	now := time.Now()
	attributes := append(t.ofLock(e), databaseKey.String("redis"), operationKey.String("lock"), outcomeKey.String(clientstats.Outcome(e.Err)))
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(now.Add(-e.Took))}
	if e.Holder != "" {
		attributes = append(attributes, text(holderKey, e.Holder))
		if waitedFor := t.holds.span(e.Lock, e.Holder); waitedFor.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: waitedFor, Attributes: []attribute.KeyValue{text(holderKey, e.Holder)}}))
		}
	}
	_, span := t.tracer.Start(ctx, "redlatch.wait", append(options, trace.WithAttributes(attributes...))...)
	if kind := errorType(e.Err); kind != "" {
		span.SetAttributes(errorKey.String(kind))
		span.SetStatus(codes.Error, valid(e.Err.Error()))
	}
	span.End(trace.WithTimestamp(now))
}

// beginHold begins the span of a hold.
func (t *Telemetry) beginHold(ctx context.Context, e redlatch.Event) {
	_, span := t.tracer.Start(ctx, "redlatch.hold", trace.WithTimestamp(e.Since), trace.WithAttributes(t.ofLock(e)...))
	if why, over := t.holds.put(e, span); over {
		t.endHold(span, why)
	}
}

// endHold ends the span of a hold, if there is one.
func (t *Telemetry) endHold(span trace.Span, e redlatch.Event) {
	if span == nil {
		return
	}
	span.SetAttributes(endKey.String(clientstats.End(e)))
	if e.Err != nil {
		span.SetAttributes(errorKey.String(errorType(e.Err)))
		span.SetStatus(codes.Error, valid(e.Err.Error()))
	}
	span.End()
}

// longest bounds, in bytes, what others can name.
const longest = 256

// text is an attribute with a value that others may have chosen: an owner in Redis has any bytes.
func text(key attribute.Key, value string) attribute.KeyValue { return key.String(valid(value)) }

// valid is a text as exporters want it: UTF-8 of a bounded length.
func valid(text string) string {
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// ofLock are the attributes of a span of a lock.
func (t *Telemetry) ofLock(e redlatch.Event) []attribute.KeyValue {
	all := append(t.options.Attributes[:len(t.options.Attributes):len(t.options.Attributes)], text(lockName, e.Lock), lockKind.String(string(e.LockKind)))
	if e.Owner != "" {
		all = append(all, text(ownerKey, e.Owner))
	}
	if e.Note != "" {
		all = append(all, text(noteKey, e.Note))
	}
	return all
}

// errorType is the low-cardinality name of an error. It is empty for a lock that somebody else
// holds, which is no error.
func errorType(err error) string {
	switch name := clientstats.Outcome(err); {
	case name == "acquired" || name == "not_acquired":
		return ""
	case errors.Is(err, redlatch.ErrLost):
		return "lost"
	default:
		return name
	}
}
