// Package redlatchotel exports what redlatch does to OpenTelemetry: spans and metrics.
//
//	telemetry, err := redlatchotel.New(redlatchotel.Options{})
//	client, err := redlatch.Open(ctx, url, redlatch.Config{Observer: telemetry})
//	telemetry.Watch(client)
//
// An acquisition makes two children of the span in the context that was given to Lock:
//
//   - "redlatch.wait", from the call of Lock to its return. It is linked to the span of the hold that
//     it waited for, if that is one of this process. The attribute redlatch.holder has the owner of
//     that hold, wherever it is.
//   - "redlatch.hold", from the acquisition to the end. It has the status Error if the hold was lost,
//     an event for each late renewal, and one if somebody asks for the lock. That event says who asks and
//     why (redlatch.recall).
//
// Spans have the name of the lock (redlatch.lock.name), its kind (redlatch.lock.kind: "mutex",
// "fair", "read", "write" or "permit"), the owner (redlatch.owner) and its note (redlatch.note). The span of the wait, and the
// metrics of waits and renewals, also have db.system.name and db.operation.name.
//
//	redlatch.wait.duration      histogram, s       with redlatch.outcome, and error.type of an error
//	redlatch.hold.duration      histogram, s       with redlatch.end
//	redlatch.renewal.duration   histogram, s
//	redlatch.renewal.margin     histogram, s       what was left of the lease
//	redlatch.losses             counter            with redlatch.loss.reason
//	redlatch.renewals.late      counter
//	redlatch.forced_unlocks     counter
//	redlatch.renewals.failed    observable counter
//	redlatch.rescued            observable counter
//	redlatch.holds, redlatch.holds.protected, redlatch.waiters,
//	redlatch.subscriptions      observable counters that go up and down
//	redlatch.watchdogs          observable gauge   if a client has Config.Protect
//	redlatch.hold.oldest        observable gauge, s  for how long the oldest hold has been held
//
// The gauges have redlatch.observer, the number of the observer in its process: two observers do not hide each
// other. Owners and names become valid UTF-8, and are cut after 256 bytes. Metrics of locks have redlatch.lock.kind.
// The outcomes, ends and reasons are those of package redlatchprom.
package redlatchotel
