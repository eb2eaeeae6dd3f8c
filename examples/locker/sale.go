package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
)

// Each item has one lock, and two numbers of units that are equal at first: one for each
// way of selling it.
func keyWithLock(item string) string    { return "STOCK_WITH_LOCK:" + item }
func keyWithoutLock(item string) string { return "STOCK_WITHOUT_LOCK:" + item }
func lockOf(item string) string         { return "stock:" + item }

// sale is one unit sold.
type sale struct {
	Item string `json:"item"`
	Left int    `json:"left"`
}

// sellWithLock sells one unit under the lock. A sale is short, so it uses a lease without
// renewal. If the lease ends early, because this process was paused for too long, the sale
// writes nothing: the stock uses the hold's context.
func (s *service) sellWithLock(w http.ResponseWriter, r *http.Request) {
	item := r.PathValue("item")
	h, err := s.locker.LockFor(r.Context(), lockOf(item), s.times.lease)
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	var left int
	err = under(r.Context(), h, func() (err error) {
		left, err = s.stock.take(h.Context(), keyWithLock(item))
		return err
	})
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	write(w, http.StatusOK, sale{item, left})
}

// sellWithoutLock does the same without the lock.
func (s *service) sellWithoutLock(w http.ResponseWriter, r *http.Request) {
	item := r.PathValue("item")
	left, err := s.stock.take(r.Context(), keyWithoutLock(item))
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	write(w, http.StatusOK, sale{item, left})
}

var errUnits = errors.New("units must be a number from 0")

// fillStock sets both numbers of an item. It does not wait for a sale: the caller can
// try again.
func (s *service) fillStock(w http.ResponseWriter, r *http.Request) {
	item := r.PathValue("item")
	units, err := strconv.Atoi(r.FormValue("units"))
	if err != nil || units < 0 {
		s.fail(w, r, errUnits, nil)
		return
	}
	h, err := s.locker.TryLock(r.Context(), lockOf(item))
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	err = under(r.Context(), h, func() error {
		if err := s.stock.put(h.Context(), keyWithLock(item), units); err != nil {
			return err
		}
		return s.stock.put(h.Context(), keyWithoutLock(item), units)
	})
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	s.showStock(w, r)
}

// itemStock is the number of units left of an item, for each way of selling it.
type itemStock struct {
	Item        string `json:"item"`
	WithLock    int    `json:"with_lock"`
	WithoutLock int    `json:"without_lock"`
	Selling     bool   `json:"selling"` // under the lock, at this moment
}

func (s *service) showStock(w http.ResponseWriter, r *http.Request) {
	shown, err := s.readStock(r.Context(), r.PathValue("item"))
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	write(w, http.StatusOK, shown)
}

func (s *service) readStock(ctx context.Context, item string) (shown itemStock, err error) {
	shown.Item = item
	if shown.WithLock, err = s.stock.units(ctx, keyWithLock(item)); err != nil {
		return shown, err
	}
	if shown.WithoutLock, err = s.stock.units(ctx, keyWithoutLock(item)); err != nil {
		return shown, err
	}
	shown.Selling, err = s.locker.IsLocked(ctx, lockOf(item))
	return shown, err
}
