import type { ShredCall } from '../history/secrets.js';
import type { WriteCall } from '../history.js';
import type { ViolationKind } from './violations.js';

/** A call that may have caused an event of a log. */
export type Maker = WriteCall | ShredCall;
/** Possible causes of one event; undefined if a violation has been reported for it. */
export type Candidates = readonly Maker[] | undefined;
export type Violate = (kind: ViolationKind, what: string, ...calls: readonly Maker[]) => void;
