/**
 * What comes while there is no room is turned away at the door: answered from its head, with nothing made for it that the
 * answer does not need. Under overload that is most of what comes, and what it costs is taken from those who are served.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { overloaded, type RefusalReason } from '../../shared/overloaded.js';
import type { Caller } from '../auth/authenticate.js';
import type { KeyedRoute } from '../handlers/route.js';
import type { InFlight } from '../limits/inFlight.js';
import type { EdgeMetrics } from '../metrics.js';
import type { FailureLog } from './failureLog.js';
import { errorReply, type Reply } from './reply.js';
import { requestIdOf } from './requestHead.js';
import { statusLine } from './statusLine.js';

export interface DoorParts {
  readonly inFlight: Pick<InFlight, 'refusal'>;
  readonly metrics: Pick<EdgeMetrics, 'turnedAway'>;
  readonly failures: FailureLog;
  readonly freshRequestId: () => string;
}

/** What is left of a body of this size is passed over; of a larger one the connection would have to take too much. */
const PASSED_OVER_BYTES = 64 * 1024;

export class Door {
  readonly #replies = new Map<RefusalReason, Reply>();

  constructor(private readonly parts: DoorParts) {}

  /** True: it is answered. `isInTime`: as `Intake.admits` has said. */
  turnsAway(res: HttpResponse, req: HttpRequest, route: KeyedRoute, { project }: Caller, isInTime: boolean): boolean {
    const { inFlight, metrics, failures, freshRequestId } = this.parts;
    const reason = isInTime ? inFlight.refusal(project) : 'turn';
    if (reason === undefined || !isShort(req, route)) return false;
    const requestId = requestIdOf(req) ?? freshRequestId();
    this.#answer(res, this.#replyTo(reason), requestId);
    metrics.turnedAway(route.name, reason);
    failures.note(requestId, overloaded(reason));
    return true;
  }

  #answer(res: HttpResponse, { status, contentType, headers, body }: Reply, requestId: string): void {
    res.writeStatus(statusLine(status));
    res.writeHeader('content-type', contentType as string);
    res.writeHeader('x-request-id', requestId);
    for (const [name, value] of headers ?? []) res.writeHeader(name, value);
    res.end(body);
  }

  #replyTo(reason: RefusalReason): Reply {
    let reply = this.#replies.get(reason);
    if (reply === undefined) {
      reply = errorReply(overloaded(reason));
      this.#replies.set(reason, reply);
    }
    return reply;
  }
}

function isShort(req: HttpRequest, route: KeyedRoute): boolean {
  const declared = req.getHeader('content-length');
  return declared === '' ? route.body === null : Number(declared) <= PASSED_OVER_BYTES;
}
