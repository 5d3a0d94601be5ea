import { VouchError } from '../errors.js';

/** The answer cannot come any more: what was asked may have had its effect or not. */
export class AnswerLost extends VouchError {
  constructor(reason = 'the question or its answer was lost on the way') {
    super('unavailable', `${reason}, and it is not known what became of it; look before you repeat it`);
    this.name = 'AnswerLost';
  }
}
