/** Errors of a request without an answer, which say whether it may be sent again. */
import { unavailable, VouchError } from '../errors/errors.js';

/** Why a process of another version is refused: `who` speaks version `theirs`. */
export const speaksAnother = (who: string, theirs: number | string, ours: number): string =>
  `${who} speaks version ${theirs} of the messages between processes, and this process version ${ours}; run one version everywhere`;

/** The answer can no longer arrive: the request may have had its effect or not. */
export class AnswerLost extends VouchError {
  constructor(readonly reason = 'the request or its answer was lost on the way') {
    super('unavailable', `${reason}, so its outcome is unknown; check it before you repeat the request`);
    this.name = 'AnswerLost';
  }
}

/** No process serves the subject now: the request had no effect, and may be sent again. */
export class NotServed extends VouchError {
  constructor() {
    super('unavailable', 'no shard serves this at the moment; retry shortly');
    this.name = 'NotServed';
  }
}

/** The connection is down: the request has not left this process, and may be sent again. */
export class NotSent extends VouchError {
  constructor({ message }: VouchError) {
    super('unavailable', message);
    this.name = 'NotSent';
  }
}

/** Error of a call to a former owner that certainly had no effect: it is sent to the next owner. */
export const moved = (): VouchError => new NotServed();

/** Error of a call to a former owner that may have had an effect: only the caller can decide to repeat it. */
export const cutShort = (): VouchError =>
  unavailable('the collection is moving to another shard, and the outcome of the call is unknown; retry shortly');
