/** The day whose entries of access logs are removed together: a day of UTC. */
let lengthMs = 86_400_000;

export const accessDayMs = (): number => lengthMs;

/** For the simulation, whose runs are shorter than a day. */
export function setAccessDay(shorterMs: number): void {
  lengthMs = shorterMs;
}
