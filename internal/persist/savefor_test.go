package persist

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/covey-db/covey/internal/vfs"
)

// TestSaveForGivesTheFile: whoever asks for a save gets the file that has the moment it was told of, whatever is saved after
// that.
func TestSaveForGivesTheFile(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.fill(0, 100)
	cuts := 0
	f, err := r.s.SaveFor(context.Background(), func() { cuts++ })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	first := r.file()
	r.fill(100, 100)
	<-r.s.idle() // the file is given before the save has ended
	if err := r.s.Save(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	if err != nil || string(got) != first || cuts != 1 || r.file() == first {
		t.Errorf("%d bytes, not %d, %d moments: %v", len(got), len(first), cuts, err)
	}
	r.wantOnlyFile()
}

// TestSaveForWaits: it waits for the end of a save that is under way, and takes part in none that began before.
func TestSaveForWaits(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.fill(0, 100)
	r.e.Settings.SaveKeyDelay.Store(1000)
	if err := r.s.BgSave(false); err != nil {
		t.Fatal(err)
	}
	f, err := r.s.SaveFor(context.Background(), func() { r.e.Settings.SaveKeyDelay.Store(0) })
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	<-r.s.idle()
	if r.info("rdb_saves") != "2" {
		t.Errorf("%s saves", r.info("rdb_saves"))
	}
}

// TestSaveThatNobodyWaitsFor is broken off, unless save points want it.
func TestSaveThatNobodyWaitsFor(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		r := newRig(t, vfs.NewMem())
		if !wanted {
			r.set.Points = nil
		}
		r.fill(0, 100)
		r.e.Settings.SaveKeyDelay.Store(100_000) // it is far from done when nobody wants it any more
		ctx, cancel := context.WithCancel(context.Background())
		if _, err := r.s.SaveFor(ctx, cancel); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		r.e.Settings.SaveKeyDelay.Store(0)
		<-r.s.idle()
		if want := map[bool]string{false: "0", true: "1"}[wanted]; r.info("rdb_saves") != want {
			t.Errorf("%s saves, want %s", r.info("rdb_saves"), want)
		}
	}
}
