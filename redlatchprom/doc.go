// Package redlatchprom exports what redlatch does to Prometheus.
//
//	metrics := redlatchprom.New(redlatchprom.Options{})
//	prometheus.MustRegister(metrics)
//	client, err := redlatch.Open(ctx, url, redlatch.Config{Observer: metrics})
//	metrics.Watch(client)
//
// All times are in seconds. The label kind is "mutex", "fair", "read", "write" or "permit".
//
//	redlatch_wait_duration_seconds{kind,outcome}   histogram  from the call of Lock to its return
//	redlatch_hold_duration_seconds{kind,end}       histogram  from the acquisition to the end
//	redlatch_renewal_duration_seconds{kind}        histogram  a renewal, from request to reply
//	redlatch_renewal_margin_seconds{kind}          histogram  what was left of the lease then
//	redlatch_losses_total{kind,reason}             counter    locks lost
//	redlatch_late_renewals_total{kind}             counter    renewals after half of the lease
//	redlatch_forced_unlocks_total{kind}            counter    locks that ForceUnlock freed
//	redlatch_failed_renewals_total                 counter    renewals without a reply
//	redlatch_rescued_total                         counter    locks that a watchdog kept
//	redlatch_holds                                 gauge      locks held now
//	redlatch_oldest_hold_seconds{kind}             gauge      age of the oldest hold
//	redlatch_protected_holds                       gauge      of these, those with Config.Protect
//	redlatch_waiters                               gauge      goroutines that wait now
//	redlatch_subscriptions                         gauge      channels subscribed now
//	redlatch_watchdogs                             gauge      watchdogs alive
//
// An outcome is "acquired", "not_acquired", "unknown", "not_replicated", "closed" or "failed". An
// end is "released", "detached", "closed" or "lost". A reason is "expired", "ended" or "gone": see
// redlatch.Loss. Options.ByName adds the label lock to all metrics that have the label kind.
//
// The folder deploy has a dashboard and alerts for these metrics.
package redlatchprom
