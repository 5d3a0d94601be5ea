import type { FuzzTarget } from '../target.js';
import { entries } from './entries.js';
import { events } from './events.js';
import { exports } from './exports.js';
import { frames } from './frames.js';
import { imports } from './imports.js';
import { messages } from './messages.js';
import { proofs } from './proofs.js';
import { requests } from './requests.js';
import { segments } from './segments.js';
import { vault } from './vault.js';
import { vectors } from './vectors.js';

/** Every target, with its number of cases in a run of all tests. */
export const TARGETS: readonly { readonly target: FuzzTarget; readonly cases: number }[] = [
  { target: events, cases: 30_000 },
  { target: frames, cases: 10_000 },
  { target: segments, cases: 300 },
  { target: exports, cases: 3_000 },
  { target: proofs, cases: 20_000 },
  { target: imports, cases: 600 },
  { target: requests, cases: 1_500 },
  { target: messages, cases: 3_000 },
  { target: vault, cases: 1_000 },
  { target: entries, cases: 20_000 },
  { target: vectors, cases: 1_000 },
];
