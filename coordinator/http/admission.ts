/**
 * Whether a request may be worked on. The order is part of the contract: who calls, in what format, with what scope,
 * how often. Nothing before the rate limit costs a token, and nothing of the body is read before all of it.
 */
import { VouchError } from '../../shared/errors.js';
import { allows } from '../../shared/keys.js';
import type { Authenticator, Caller } from '../auth/authenticate.js';
import type { KeyedRoute } from '../handlers/route.js';
import type { Limiter } from '../limits/limiter.js';
import type { Exchange } from './exchange.js';
import { isBytesBody, isJsonBody, type RequestHead } from './requestHead.js';

export class Admission {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly limiter: Limiter,
  ) {}

  /** Throws what the request is refused with. */
  async admit(route: KeyedRoute, head: RequestHead, exchange: Exchange): Promise<Caller> {
    const caller = await this.authenticator.authenticate(head.authorization, () => exchange.clientAddress());
    if (route.body === 'frames' && !isBytesBody(head))
      throw new VouchError('unsupported_media_type', 'the body must be application/octet-stream, not compressed');
    if (route.body !== null && route.body !== 'frames' && !isJsonBody(head))
      throw new VouchError('unsupported_media_type', 'the body must be application/json in UTF-8, not compressed');
    if (!allows(caller.scope, route.scope))
      throw new VouchError('forbidden', `this needs a key of scope ${route.scope}; yours is ${caller.scope}`);
    const decision = this.limiter.take(caller.project, route.category);
    const { standing, retryAfterSecs } = decision instanceof Promise ? await decision : decision;
    exchange.standing = standing;
    if (retryAfterSecs > 0) {
      const message = `the project's rate limit is exceeded; retry in ${retryAfterSecs} s`;
      throw new VouchError('rate_limited', message, { retryAfterSecs });
    }
    return caller;
  }
}
