/** Length of a day of access logs in the simulation. */
export const SIMULATED_DAY_MS = 60_000;
