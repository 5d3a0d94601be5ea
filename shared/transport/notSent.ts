import { VouchError } from '../errors.js';

/** The connection is away: the request has not left this process, and may be sent again. */
export class NotSent extends VouchError {
  constructor({ message }: VouchError) {
    super('unavailable', message);
    this.name = 'NotSent';
  }
}
