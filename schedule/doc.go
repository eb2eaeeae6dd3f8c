// Package schedule runs a job at its times on one of many machines. At each time all machines try to take a
// lock, and the machine that gets it runs the job.
//
// Run promises the following, provided that Redis keeps the lock:
//
//   - No two runs of a job overlap, on any machines. The exception is a run that goes on after its context
//     has ended.
//   - Each time is run at most once, however wrong a clock is. Redis keeps the last thousand times that were run,
//     for a week, in the key "redlatch:ran:{name}". If it refuses that, the job runs, and Event.Err says so. Then each
//     time is run at most once if the clocks of the machines differ by less than half of Job.AtLeast: the lock stays
//     held for AtLeast, even if the job ends earlier.
//   - Each machine reports each time once, to Job.Observe: it ran the job, it left the time to another
//     machine, or it missed the time.
//
// No machine makes up for a time after half of AtLeast. So a time is lost if no machine runs, or no machine
// can reach Redis.
package schedule
