import type { FuzzTarget } from '../target.js';
import { events } from './events.js';
import { frames } from './frames.js';
import { messages } from './messages.js';
import { requests } from './requests.js';

/** Every target, with the cases that a run of all tests gives it. */
export const TARGETS: readonly { readonly target: FuzzTarget; readonly cases: number }[] = [
  { target: events, cases: 20_000 },
  { target: frames, cases: 5_000 },
  { target: requests, cases: 2_000 },
  { target: messages, cases: 2_000 },
];
