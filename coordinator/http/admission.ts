/** Checks of a request before its handler: media type, scope, rate limit, and who asks. */
import { refusal, VouchError } from '../../shared/errors/errors.js';
import { messageText } from '../../shared/errors/errorTable.js';
import { ACTOR_TEXT_MAX, type Actor, isVisibleAscii } from '../../shared/model/actor.js';
import { allows, type Scope } from '../../shared/registry/keys.js';
import type { Caller } from '../auth/authenticate.js';
import { reuseMemory } from '../body/bodyMemory.js';
import { invalid } from '../contract/refusal.js';
import type { Share } from '../limits/inFlight.js';
import type { Decision } from '../limits/limiter.js';
import type { BodyReader } from './bodyReader.js';
import type { Exchange } from './exchange.js';
import { shownCollections } from './handlerRequest.js';
import { mediaFlaw } from './mediaTypes.js';
import type { RequestHead } from './requestHead.js';
import type { Route } from './route.js';

/**
 * The refusal of a call that the key may not make, by its scope or its limits. Throws `unsupported_media_type` first: the order is
 * part of the contract.
 */
export function callRefusal({ scope, collections }: Caller, route: Route, head: RequestHead): VouchError | undefined {
  const flaw = route.body === null ? undefined : mediaFlaw(head, route.body);
  if (flaw !== undefined) throw new VouchError('unsupported_media_type', flaw);
  const wanted = route.scope as Scope;
  if (!allows(scope, wanted)) return refusal('forbidden', 'scope', { scope: wanted, own: scope });
  if (collections === null || route.category === null || !route.isOfProject) return undefined;
  return refusal('forbidden', 'project', { own: shownCollections(collections) });
}

/** The length of an empty object, which some clients send where they have nothing to say. */
const EMPTY_BODY_BYTES = 2;

/** Refuses a body that would not be read: it may hold conditions. Its size is unknown before its end if it is chunked. */
export async function assertNoBody(head: RequestHead, share: Share, body: BodyReader | undefined): Promise<void> {
  let sizeBytes = head.bodyBytes;
  if (body !== undefined) {
    const bytes = await body.read(share);
    sizeBytes = bytes.length;
    reuseMemory(bytes);
  }
  if (sizeBytes! > EMPTY_BODY_BYTES) throw invalid('this request takes no body: its parameters are in the URL');
}

/** The originator of the request's writes. Throws `validation_error` for an impossible `Vouch-On-Behalf-Of`. */
export function actorOf({ keyId }: Caller, { onBehalfOf }: RequestHead, { requestId }: Exchange): Actor {
  if (onBehalfOf !== undefined && !isVisibleAscii(onBehalfOf, ACTOR_TEXT_MAX))
    throw invalid(`the header Vouch-On-Behalf-Of must be 1 to ${ACTOR_TEXT_MAX} visible ASCII characters`);
  return { keyId, onBehalfOf: onBehalfOf ?? null, requestId };
}

/** Shows the state of the rate limit in the answer. Throws `rate_limited`. */
export function assertWithinLimit({ state, retryAfterSecs }: Decision, exchange: Exchange): void {
  exchange.rateLimit = state;
  if (retryAfterSecs === 0) return;
  const message = messageText('rate_limited', 'project', { seconds: retryAfterSecs });
  throw new VouchError('rate_limited', message, { retryAfterSecs });
}
