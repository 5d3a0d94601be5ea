/**
 * Titles of suites and tests that `npm test` leaves to `npm run test:long`: scripts/setup/tests.mjs knows them by their
 * end.
 */
export const atLength = (title: string): string => `${title} (at length)`;

/** The title of a suite in a mode, at length in one of them. */
export const titleIn = <Mode extends string>(mode: Mode, title: string, long: Mode): string =>
  mode === long ? atLength(`${title} (${mode})`) : `${title} (${mode})`;
