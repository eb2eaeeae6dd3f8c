package demo

import (
	"context"
	"errors"
	"io"
	"time"
)

// Run shows the demonstration on out and returns when it is over or ctx has ended;
// either way the summary is printed, no process and no file is left behind and
// nothing is left in Redis. Verb is the hidden verb of this program that runs Work.
//
// Errors: *redlatch.ConfigError if the URL is no good; others if Redis, a worker or
// out failed. The report counts also then.
func Run(ctx context.Context, settings Settings, out io.Writer, verb string) (Report, error) {
	st, err := build(ctx, settings)
	if err != nil {
		return Report{}, err
	}
	defer st.strike()
	crew, err := newCrew(st.task(), st.journal, verb)
	if err != nil {
		return Report{}, err
	}
	s := newShow(settings, st, crew, newView(out))
	err = s.run(ctx)
	s.report.Ran = time.Since(s.scene.began)
	s.report.Interrupted = ctx.Err() != nil
	err = errors.Join(err, crew.disband(s.listen), s.sweep(), s.conclude())
	s.display(func() error { return s.view.end(&s.scene) })
	s.display(func() error { return s.report.print(out, settings) })
	if s.report.Interrupted {
		return s.report, err // whoever looked on may have gone
	}
	return s.report, errors.Join(err, s.shown)
}

// show is a run. All of it belongs to the goroutine that called Run.
type show struct {
	settings Settings
	stage    *stage
	crew     *crew
	view     view
	shown    error // why the view failed
	scene    scene
	gauge    gauge
	referee  *referee
	report   Report
	noted    time.Time // when something was noted last

	plan   plan
	acts   []act // still to come
	victim *member
	killAt time.Time // when the victim is to be killed; zero before it holds the lock
}

// tick is how often the view and the journal are looked after.
const tick = 100 * time.Millisecond

func newShow(settings Settings, st *stage, c *crew, v view) *show {
	now := time.Now()
	s := &show{
		settings: settings,
		stage:    st,
		crew:     c,
		view:     v,
		scene:    scene{settings: settings, lock: st.lock.Name(), server: st.address, began: now, now: now},
		gauge:    gauge{lease: settings.Lease},
		referee:  newReferee(),
		plan:     settings.plan(),
	}
	s.acts = s.plan.acts()
	return s
}

// run is the demonstration from the start of the workers until its time is over.
func (s *show) run(ctx context.Context) error {
	if err := s.open(); err != nil {
		return err
	}
	polling, stop := context.WithCancel(ctx)
	samples, polled := make(chan sample), make(chan struct{})
	go func() {
		defer close(polled)
		poll(polling, s.stage.lock, s.pollEvery(), samples)
	}()
	defer func() { stop(); <-polled }()
	return s.follow(ctx, samples)
}

// follow reacts to what happens until the time is over.
func (s *show) follow(ctx context.Context, samples <-chan sample) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	over := time.NewTimer(s.settings.For)
	defer over.Stop()
	var err error
	for err == nil && s.shown == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-over.C:
			return nil
		case n := <-s.crew.news:
			err = s.hear(n)
		case taken := <-samples:
			s.measure(taken)
		case now := <-ticker.C:
			err = s.turn(now)
		}
	}
	return err
}

// pollEvery is short against the renewal interval, so that no jump of the TTL is
// missed.
func (s *show) pollEvery() time.Duration {
	return min(max(s.settings.Lease/40, 5*time.Millisecond), tick/2)
}

// turn does what is due now and shows how things stand.
func (s *show) turn(now time.Time) error {
	s.scene.now = now
	if err := errors.Join(s.act(now), s.read()); err != nil {
		return err
	}
	s.display(func() error { return s.view.draw(&s.scene) })
	return nil
}

// display writes something, unless nothing could be written before.
func (s *show) display(write func() error) {
	if s.shown == nil {
		s.shown = write()
	}
}

// sweep leaves nothing behind in Redis, and looks at the lock for the last time.
func (s *show) sweep() error {
	if err := s.stage.sweep(); err != nil {
		return err
	}
	s.measure(ask(context.Background(), s.stage.lock))
	return nil
}

// conclude comes to the verdict, when no worker is left.
func (s *show) conclude() error {
	s.scene.now = time.Now()
	err := s.read()
	s.report.Verdict = s.referee.judge(s.scene.counter)
	s.report.Renewals = s.gauge.renewals
	s.scene.verdict = s.report.Verdict
	return err
}
