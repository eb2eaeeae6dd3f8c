package rueidis

import "context"

// era is a time in which connections go to one server. It is a context, below
// Driver.life, so that its end also ends the attempts to connect that began in it. An
// attempt that succeeds at the same moment is looked at once more, under Driver.mu, when
// it is put to use; so after Drop has returned, no connection is used whose address was
// asked for before.
type era struct {
	context.Context
	end context.CancelCauseFunc
}

func newEra(life context.Context) era {
	ctx, end := context.WithCancelCause(life)
	return era{ctx, end}
}

// Drop puts all connections away, those in the making included, so that new ones are
// made, asking Options.Resolve anew: for whoever knows that the server is no longer the
// right one. Commands under way end with an error that leaves their outcome open, and
// listeners with Listener.Done. The reason appears in errors. Drop does not block.
func (d *Driver) Drop(reason error) {
	d.mu.Lock()
	link := d.link.Load()
	d.endEra(dropped{reason})
	d.mu.Unlock()
	if link != nil {
		d.lose(link, dropped{reason})
	}
}

// endEra puts everything away but the link. It needs d.mu.
func (d *Driver) endEra(reason error) {
	if d.closed {
		return
	}
	old := d.era
	d.era = newEra(d.life)
	old.end(reason)
	for l := range d.listeners {
		l.conn.Close()
	}
	for _, s := range d.clearYard() {
		d.work.Go(s.close)
	}
}

// attempt is ctx for an attempt to connect: it ends with the command timeout, and with
// the era, which is the present one.
func (d *Driver) attempt(ctx context.Context) (era, attempt context.Context, cancel context.CancelFunc) {
	d.mu.Lock()
	era = d.era.Context
	d.mu.Unlock()
	bounded, stop := d.options.bounded(ctx)
	attempt, free := endingWith(bounded, era)
	return era, attempt, func() { free(); stop() }
}
