/** The only source of time and randomness, so that replay and tests can replace them. */
import { generateKeySync, randomBytes, randomUUID } from 'node:crypto';

export interface Clock {
  /** Milliseconds since the Unix epoch. May jump. */
  nowMs(): number;
  /** Milliseconds from an arbitrary start. Never goes back; fractions count. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** Returns `length` unpredictable bytes. */
export type Entropy = (length: number) => Uint8Array;

export const systemEntropy: Entropy = (length) => randomBytes(length);

/**
 * Entropy for the secrets of hash tables, which change costs and never results. It is real even in the simulation, where the
 * moment of a draw must not matter.
 */
export const hashEntropy: Entropy = (length) => generateKeySync('hmac', { length: 8 * length }).export();

/** A unique id: a UUID of version 4. */
export const systemId = (): string => randomUUID();
