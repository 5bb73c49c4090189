package mem

import "math/bits"

// This file holds the arithmetic of size classes: which class a request falls into and what a class occupies.

const (
	fineMax    = 256                            // classes are multiples of 8 bytes up to here
	fineCount  = fineMax >> unitShift           // 32
	fineLog    = 8                              // log2 of fineMax
	steps      = 8                              // classes a doubling above fineMax
	stepsLog   = 3                              // log2 of steps
	smallMax   = 64 << 10                       // the largest class
	classCount = fineCount + steps*(16-fineLog) // 64 KiB is 1<<16
	spanPages  = 16                             // the most pages a span may have
	wasteShare = 32                             // a span may waste one part in so many at its end
)

// classOf is the class of a request of n bytes, n at most smallMax.
func classOf(n int) int {
	if n <= fineMax {
		if n <= 0 {
			return 0
		}
		return (n - 1) >> unitShift
	}
	m := uint(n - 1)
	log := bits.Len(m) - 1
	step := int(m>>(log-stepsLog)) & (steps - 1)
	return fineCount + (log-fineLog)*steps + step
}

// sizeOf is the size of a block of class c.
func sizeOf(c int) int {
	if c < fineCount {
		return (c + 1) << unitShift
	}
	base := fineMax << ((c - fineCount) / steps)
	return base + ((c-fineCount)%steps+1)*(base/steps)
}

// pagesOf is the number of pages of a span of blocks of the given size: the smallest that wastes little at its end.
func pagesOf(size int) int {
	best, bestWaste := 1, 1.0
	for pages := 1; pages <= spanPages; pages++ {
		bytes := pages << pageShift
		if bytes < size {
			continue
		}
		waste := float64(bytes%size) / float64(bytes)
		if waste*wasteShare <= 1 {
			return pages
		}
		if waste < bestWaste {
			best, bestWaste = pages, waste
		}
	}
	return best
}

// Usable is the number of bytes that a block for a request of n bytes really has.
func Usable(n int) int {
	switch {
	case n <= smallMax:
		return sizeOf(classOf(n))
	case n <= runBytesMax:
		return (n + pageSize - 1) &^ (pageSize - 1)
	default:
		return wholePages(n)
	}
}

// Fits says whether a block that was asked for with have bytes is the one a request of want bytes would get.
func Fits(have, want int) bool { return Usable(have) == Usable(want) }
