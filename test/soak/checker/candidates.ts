import type { ShredCall } from '../history/secrets.js';
import type { WriteCall } from '../history.js';
import type { ViolationKind } from './violations.js';

/** What may have made an event of a log. */
export type Maker = WriteCall | ShredCall;
/** Those of one event; undefined where what is wrong has been told. */
export type Candidates = readonly Maker[] | undefined;
export type Violate = (kind: ViolationKind, what: string, ...calls: readonly Maker[]) => void;
