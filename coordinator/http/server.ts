/**
 * The HTTP server: takes requests in, sees each through to its answer, and stops without losing one.
 *
 *   listening ──stop()──▶ draining (no new connection; each answer ends its connection) ──▶ closed
 */

import { App, type HttpRequest, type HttpResponse, us_listen_socket_close } from 'uWebSockets.js';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { Overloaded, overloaded } from '../../shared/overloaded.js';
import type { Caller } from '../auth/authenticate.js';
import type { BodyPool } from '../body/bodyPool.js';
import type { BodyKind } from '../body/kinds.js';
import type { KeyedRoute, Route, Services } from '../handlers/route.js';
import type { InFlight, Share } from '../limits/inFlight.js';
import { Intake } from '../limits/intake.js';
import type { EdgeMetrics } from '../metrics.js';
import type { Admission } from './admission.js';
import { BodyReader } from './bodyReader.js';
import { Door } from './door.js';
import { Exchange } from './exchange.js';
import { FailureLog } from './failureLog.js';
import { type Address, listen } from './listen.js';
import { decodeParameter } from './pathParameters.js';
import { errorReply, type Reply } from './reply.js';
import { type RequestHead, readHead } from './requestHead.js';
import { type Match, Router } from './router.js';

export interface ServerParts {
  readonly routes: readonly Route[];
  readonly services: Services;
  readonly admission: Admission;
  readonly inFlight: InFlight;
  readonly bodies: BodyPool;
  readonly metrics: EdgeMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly freshRequestId: () => string;
  readonly bodyBytesMax: number;
  readonly deadlineMs: number;
  readonly queueMs: number;
}

/** How long requests may still come over connections that were made before the port was given up. */
const SHARED_PORT_MS = 250;

export interface HttpServer {
  readonly port: number;
  /** Once. Resolves when what was under way is answered, or at the latest after `drainMs`, and all connections are closed. */
  stop(drainMs: number): Promise<void>;
}

/** Throws an Error of one line where the address cannot be listened on. */
export async function startServer(parts: ServerParts, address: Address): Promise<HttpServer> {
  const app = App();
  const requests = new Requests(parts);
  app.any('/*', (res, req) => requests.take(res, req));
  const { socket, port } = await listen(app, address);
  return {
    port,
    stop: async (drainMs) => {
      us_listen_socket_close(socket);
      // Others go on listening there: clients that have just connected here must be answered here.
      await requests.drain(drainMs, address.sharePort ? SHARED_PORT_MS : 0);
      app.close();
    },
  };
}

/** A request that has come. */
interface Taken {
  readonly exchange: Exchange;
  readonly head: RequestHead;
  /** Of the key, where that is known at once. */
  readonly caller: Caller | undefined;
  readonly body: BodyReader | undefined;
  /** False: it is read so late that it is refused. */
  readonly isInTime: boolean;
}

class Requests {
  readonly #router: Router<Route>;
  readonly #intake: Intake;
  readonly #failures: FailureLog;
  readonly #door: Door;
  #open = 0;
  #draining = false;
  #onDrained: () => void = () => {};

  constructor(private readonly parts: ServerParts) {
    this.#router = new Router(parts.routes);
    this.#intake = new Intake(parts.queueMs);
    this.#failures = new FailureLog(parts.logger, parts.clock);
    this.#door = new Door({ ...parts, failures: this.#failures });
  }

  take(res: HttpResponse, req: HttpRequest): void {
    const { clock, admission, inFlight, bodyBytesMax, freshRequestId } = this.parts;
    const startMs = clock.monotonicMs();
    const isInTime = this.#intake.admits(startMs);
    const match = this.#router.match(req.getCaseSensitiveMethod(), req.getUrl());
    const route = match.kind === 'route' ? match.route : undefined;
    let caller: Caller | undefined;
    if (route !== undefined && route.scope !== null) {
      caller = admission.known(req.getHeader('authorization'));
      if (caller !== undefined && this.#door.turnsAway(res, req, route, caller, isInTime)) return;
    }
    const head = readHead(req);
    const body =
      route === undefined || route.body === null
        ? undefined
        : new BodyReader(res, head.bodyBytes, bodyBytesMax, inFlight);
    const exchange = new Exchange(res, {
      requestId: head.requestId ?? freshRequestId(),
      isHead: head.method === 'HEAD',
      inFlight,
      onEnd: (status) => this.#ended(route, exchange.requestId, status, startMs, body?.receivedBytes ?? 0),
      onCut: () => this.parts.metrics.refused('answer_bytes'),
    });
    if (body !== undefined) exchange.onAbort(() => body.abort());
    this.#open += 1;
    void this.#answer({ exchange, head, caller, body, isInTime }, match);
  }

  /** Resolves when no request is under way, after `leastMs` at the earliest and `drainMs` more at the latest. */
  async drain(drainMs: number, leastMs: number): Promise<void> {
    this.#draining = true;
    if (leastMs > 0) await delay(leastMs);
    if (this.#open === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, drainMs);
      this.#onDrained = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #answer(taken: Taken, match: Match<Route>): Promise<void> {
    const { exchange, body } = taken;
    let reply: Reply;
    try {
      // What is refused at once is answered at once: under overload that is most of what comes.
      const answered = this.#work(taken, match);
      reply = answered instanceof Promise ? await answered : answered;
    } catch (error) {
      reply = errorReply(this.#shown(error, exchange));
    }
    body?.drop();
    exchange.send(reply, body?.isTooMuch ? 'client closes' : this.#draining ? 'we close' : undefined);
  }

  #work(taken: Taken, match: Match<Route>): Reply | Promise<Reply> {
    if (match.kind === 'none') throw new VouchError('not_found', 'there is nothing at this path');
    if (match.kind === 'method')
      return errorReply(new VouchError('method_not_allowed', `this path takes ${match.allow}`), [
        ['allow', match.allow],
      ]);
    const { route } = match;
    if (route.scope === null) return route.handle(this.parts.services);
    const caller = this.parts.admission.identify(route, taken.head, taken.caller, taken.exchange);
    const { parameters } = match;
    if (caller instanceof Promise) return caller.then((known) => this.#admit(taken, route, parameters, known));
    return this.#admit(taken, route, parameters, caller);
  }

  /** What the door let in: its caller was not known then, its body may be long, or there was room. */
  #admit(taken: Taken, route: KeyedRoute, encoded: readonly string[], caller: Caller): Reply | Promise<Reply> {
    const share = taken.isInTime ? this.parts.inFlight.enter(caller.project) : 'turn';
    if (typeof share === 'string') return errorReply(this.#shown(overloaded(share), taken.exchange));
    taken.exchange.share = share;
    return this.#handle(taken, route, encoded, caller, share);
  }

  async #handle(
    { exchange, head, body }: Taken,
    route: KeyedRoute,
    encoded: readonly string[],
    caller: Caller,
    share: Share,
  ): Promise<Reply> {
    const { admission, inFlight, services } = this.parts;
    try {
      const limited = admission.limit(caller, route, exchange);
      if (limited !== undefined) await limited;
      const parameters = encoded.map(decodeParameter);
      const query = route.parseQuery?.(head.query);
      const prepared = body === undefined ? undefined : await this.#prepared(route, head, share, body);
      const envelope = { requestId: exchange.requestId, deadlineMs: this.#deadlineMs() };
      const { idempotencyKey } = head;
      return await route.handle({ caller, body: prepared, query, parameters, idempotencyKey, envelope }, services);
    } finally {
      inFlight.leave(share);
    }
  }

  async #prepared(route: KeyedRoute, head: RequestHead, share: Share, body: BodyReader): Promise<unknown> {
    const { bodies } = this.parts;
    const kind = route.body as BodyKind;
    bodies.assertRoom(kind, head.bodyBytes ?? 0, share.project);
    return bodies.prepare(kind, await body.read(share), share.project);
  }

  /** Counted from the arrival of the whole body: how long that takes is the client's affair. */
  #deadlineMs(): number {
    return this.parts.clock.nowMs() + this.parts.deadlineMs;
  }

  /** What a caller may see of a failure. Anything but a VouchError is a defect: it is logged and says nothing outside. */
  #shown(error: unknown, { requestId, isOpen }: Exchange): VouchError {
    const { logger, metrics } = this.parts;
    if (error instanceof Overloaded) metrics.refused(error.reason);
    if (error instanceof VouchError) {
      if (error.status >= 500 && isOpen) this.#failures.note(requestId, error);
      return error;
    }
    logger.error({ requestId, err: error }, 'unexpected failure');
    return new VouchError('internal_error', `the service failed; its log has the cause under ${requestId}`);
  }

  #ended(route: Route | undefined, requestId: string, status: number, startMs: number, bodyBytes: number): void {
    const { clock, logger, metrics } = this.parts;
    const ms = clock.monotonicMs() - startMs;
    const name = route === undefined ? 'none' : route.name;
    metrics.ended(name, status, ms, bodyBytes);
    if (logger.isLevelEnabled('debug')) logger.debug({ requestId, route: name, status, ms }, 'request');
    this.#open -= 1;
    if (this.#open === 0) this.#onDrained();
  }
}
