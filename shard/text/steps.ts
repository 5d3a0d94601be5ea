import type { Pace } from '../graph/pace.js';

/** Work that is done in one go or in slices: it yields every few tenths of a millisecond. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Throws `unavailable` once the deadline has passed. */
export async function inSlices<Result>(steps: Steps<Result>, pace: Pace): Promise<Result> {
  try {
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      if (pace.due) await pace.rest();
    }
  } finally {
    // What it has borrowed goes back, wherever it was.
    steps.return(undefined as never);
  }
}
