import { VouchError } from '../errors.js';

/** No process serves the subject now: the request has certainly had no effect, and may be sent again. */
export class NobodyServes extends VouchError {
  constructor() {
    super('unavailable', 'no shard serves this at the moment; retry shortly');
    this.name = 'NobodyServes';
  }
}
