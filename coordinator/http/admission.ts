/**
 * Whether a request may be worked on. The order is part of the contract: who calls, in what format, with what scope,
 * whether there is room, how often. Nothing before the rate limit costs a token, and nothing of the body is read before
 * all of it.
 */
import { VouchError } from '../../shared/errors.js';
import { allows } from '../../shared/keys.js';
import type { Authenticator, Caller } from '../auth/authenticate.js';
import type { KeyedRoute } from '../handlers/route.js';
import type { Decision, Limiter } from '../limits/limiter.js';
import type { Exchange } from './exchange.js';
import { isBytesBody, isJsonBody, type RequestHead } from './requestHead.js';

export class Admission {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly limiter: Limiter,
  ) {}

  /** Who calls, where that can be said at once. */
  known(authorization: string): Caller | undefined {
    return this.authenticator.known(authorization);
  }

  /**
   * Who calls, in a fit format and with the scope that it takes; `known` as above. Throws what the request is refused with.
   */
  identify(
    route: KeyedRoute,
    head: RequestHead,
    known: Caller | undefined,
    exchange: Exchange,
  ): Caller | Promise<Caller> {
    const caller = known ?? this.authenticator.authenticate(head.authorization, () => exchange.clientAddress());
    if (caller instanceof Promise) return caller.then((known) => assertFit(known, route, head));
    return assertFit(caller, route, head);
  }

  /** Takes a token. Throws `rate_limited`. */
  limit({ project }: Caller, route: KeyedRoute, exchange: Exchange): Promise<void> | undefined {
    const decision = this.limiter.take(project, route.category);
    if (decision instanceof Promise) return decision.then((decided) => this.#assertWithin(decided, exchange));
    this.#assertWithin(decision, exchange);
    return undefined;
  }

  #assertWithin({ standing, retryAfterSecs }: Decision, exchange: Exchange): void {
    exchange.standing = standing;
    if (retryAfterSecs > 0) {
      const message = `the project's rate limit is exceeded; retry in ${retryAfterSecs} s`;
      throw new VouchError('rate_limited', message, { retryAfterSecs });
    }
  }
}

function assertFit(caller: Caller, route: KeyedRoute, head: RequestHead): Caller {
  if (route.body === 'frames' && !isBytesBody(head))
    throw new VouchError('unsupported_media_type', 'the body must be application/octet-stream, not compressed');
  if (route.body !== null && route.body !== 'frames' && !isJsonBody(head))
    throw new VouchError('unsupported_media_type', 'the body must be application/json in UTF-8, not compressed');
  if (!allows(caller.scope, route.scope))
    throw new VouchError('forbidden', `this needs a key of scope ${route.scope}; yours is ${caller.scope}`);
  return caller;
}
