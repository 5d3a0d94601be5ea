/**
 * The HTTP server: accepts requests, takes each through the checks to its handler and its answer, and stops without losing
 * one. A request that fails a check before the rate limit costs no token. No body is read before all checks.
 *
 * ```text
 * listening ──stop()──▶ draining (no new connection; each answer ends its connection) ──▶ closed
 * ```
 */

import { setTimeout as delay } from 'node:timers/promises';
import { refusal, VouchError } from '../../shared/errors/errors.js';
import { Overloaded, overloaded, type RefusalReason } from '../../shared/errors/overloaded.js';
import type { Actor } from '../../shared/model/actor.js';
import { noteWork } from '../../shared/scheduling/currentWork.js';
import { nextTurn } from '../../shared/scheduling/slice.js';
import type { Authenticator, Caller } from '../auth/authenticate.js';
import type { BodyPool } from '../body/bodyPool.js';
import type { BodyKind } from '../body/kinds.js';
import type { InFlight, Share } from '../limits/inFlight.js';
import type { Limiter } from '../limits/limiter.js';
import { TurnBudget } from '../limits/turnBudget.js';
import { actorOf, assertNoBody, assertWithinLimit, callRefusal } from './admission.js';
import { Auditing } from './auditing.js';
import { BodyReader, type BodyServices, BodyWatch } from './bodyReader.js';
import { Compressor } from './compression.js';
import { Cors } from './cors.js';
import type { Address, EngineRequest, EngineResponse, HttpEngine, ServedCertificate } from './engine/engine.js';
import { type Closing, Exchange, writeHead } from './exchange.js';
import { FailureLog } from './failureLog.js';
import { decodeParameter, HandlerRequest, type Services } from './handlerRequest.js';
import { acceptsPacked, isPackedBody } from './mediaTypes.js';
import { errorReply, KEEP_ALIVE, malformedReply, packedReply, type Reply } from './reply.js';
import { type RequestHead, readHead } from './requestHead.js';
import { requestIds } from './requestIds.js';
import type { KeyedRoute, Route, ServiceRoute } from './route.js';
import { type Match, Router } from './router.js';
import { Waits } from './waits.js';

export interface ServerOptions {
  readonly engine: HttpEngine;
  /** Present for HTTPS. */
  readonly certificate?: ServedCertificate | undefined;
  readonly routes: readonly Route[];
  readonly services: Services;
  readonly authenticator: Authenticator;
  readonly limiter: Limiter;
  readonly inFlight: InFlight;
  readonly bodies: BodyPool;
}

/** Time for requests that still arrive over connections made before the port was closed. */
const SHARED_PORT_MS = 250;
/** Largest body that is read to its end and dropped after a refusal from the head; a larger one would cost too much. */
const DROPPED_BYTES_MAX = 64 * 1024;
/** A request that is unanswered so long after its deadline is cancelled. Usually its call ends earlier, with a reason. */
const OVERDUE_MS = 1_000;

export interface HttpServer {
  readonly port: number;
  /** Answers the requests in flight, within `drainMs`, and closes all connections. May be called once. */
  stop(drainMs: number): Promise<void>;
}

/** Throws an Error of one line if it cannot listen on the address. */
export async function startServer(options: ServerOptions, address: Address): Promise<HttpServer> {
  const requests = new Requests(options);
  const { engine, certificate } = options;
  const listening = await engine.listen((res, req) => requests.take(res, req), address, certificate);
  return {
    port: listening.port,
    stop: async (drainMs) => {
      listening.stopListening();
      // Other processes still listen on the port; clients that have just connected here are answered here.
      await requests.drain(drainMs, address.sharePort ? SHARED_PORT_MS : 0);
      listening.close();
    },
  };
}

/** The start and the parts of a request, for the report of its end. */
interface BegunRequest {
  readonly startMs: number;
  readonly route?: Route | undefined;
  readonly body?: BodyReader | undefined;
}

/** A request that was not refused from its head. */
interface AcceptedRequest {
  readonly exchange: Exchange;
  readonly head: RequestHead;
  /** The holder of the key, if this process knows the key already. */
  readonly caller: Caller | undefined;
  readonly body: BodyReader | undefined;
  /** False if it was read so late that it is refused. */
  readonly isInTime: boolean;
}

/** The route that a request asks for, with who asks. */
interface AskedRoute {
  readonly route: KeyedRoute;
  readonly encoded: readonly string[];
  readonly caller: Caller;
  readonly share: Share;
  /** The refusal of a call that the key may not make. It is answered once the access log has the call. */
  readonly refused: VouchError | undefined;
}

/** The traces of a request in logs. */
interface Traced {
  readonly actor: Actor;
  readonly auditing: Auditing;
}

const NO_BYTES = Buffer.alloc(0);

class Requests {
  readonly #router: Router<Route>;
  readonly #cors: Cors;
  readonly #compressor = new Compressor();
  readonly #turnBudget: TurnBudget;
  readonly #failures: FailureLog;
  /** Answers to requests that are refused from their head. */
  readonly #refusals = new Map<RefusalReason, Reply>();
  readonly #bodies: BodyServices;
  readonly #waits: Waits;
  readonly #freshRequestId = requestIds();
  #open = 0;
  #draining = false;
  #onDrained: () => void = () => {};

  constructor(private readonly options: ServerOptions) {
    const { logger, clock, config } = options.services;
    this.#bodies = { bodyBytesMax: config.limits.bodyBytes, inFlight: options.inFlight, watch: new BodyWatch() };
    this.#router = new Router(options.routes);
    this.#cors = new Cors(config.http.corsOrigins);
    this.#turnBudget = new TurnBudget(config.limits.maxQueueWaitMs);
    this.#failures = new FailureLog(logger, clock);
    this.#waits = new Waits(clock);
  }

  take(res: EngineResponse, req: EngineRequest): void {
    const { authenticator, engine, inFlight, services } = this.options;
    const startMs = services.clock.monotonicMs();
    const isInTime = this.#turnBudget.admits(startMs);
    const head = readHead(req);
    if (head.expectation !== undefined) engine.awaitContinue(res, head.expectation);
    if (head.flaw !== undefined) {
      this.#exchange(res, head, { startMs }).send(malformedReply(head.flaw), 'we close');
      return;
    }
    const preflight = this.#cors.preflight(head);
    if (preflight !== undefined) {
      this.#exchange(res, head, { startMs }).send(preflight, this.#closing(head, undefined));
      return;
    }
    const match = this.#router.match(head.method, head.path);
    const route = match.kind === 'route' ? match.route : undefined;
    let caller: Caller | undefined;
    if (route !== undefined && route.category !== null) {
      caller = authenticator.known(head.authorization);
      const reason = caller && (isInTime ? inFlight.refusal(caller.project) : 'turn');
      if (reason !== undefined && mayRejectFast(head, res)) {
        this.#rejectFast(res, head, route, reason);
        return;
      }
    }
    const body =
      route === undefined || route.category === null || (route.body === null && head.bodyBytes !== undefined)
        ? undefined
        : new BodyReader(res, head.bodyBytes, this.#bodies);
    const exchange = this.#exchange(res, head, { startMs, route, body });
    if (body !== undefined) exchange.onAbort(() => body.abort());
    void this.#answer({ exchange, head, caller, body, isInTime }, match);
  }

  /** Resolves when no request is in flight, after `leastMs` at the earliest and `drainMs` more at the latest. */
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

  /**
   * Refuses a request from its head for lack of capacity, and allocates only what the answer needs. Under overload most requests
   * end here, and their cost slows the requests that are served.
   */
  #rejectFast(res: EngineResponse, head: RequestHead, route: KeyedRoute, reason: RefusalReason): void {
    const { requestId = this.#freshRequestId(), isLast } = head;
    let reply = this.#refusals.get(reason);
    if (reply === undefined) {
      reply = errorReply(overloaded(reason));
      this.#refusals.set(reason, reply);
    }
    writeHead(res, reply, { requestId, cors: this.#cors.headers(head) });
    if (isLast) res.writeHeader('connection', 'close');
    else res.writeHeader('keep-alive', KEEP_ALIVE);
    res.end(reply.body);
    this.options.services.metrics.turnedAway(route.name, reason);
    this.#failures.note(requestId, overloaded(reason));
  }

  #exchange(res: EngineResponse, head: RequestHead, begun: BegunRequest): Exchange {
    const { requestId = this.#freshRequestId(), method, flaw } = head;
    this.#open += 1;
    // The answer to a malformed request needs its body, also for HEAD.
    const isHead = method === 'HEAD' && flaw === undefined;
    const onEnd = (status: number): void => this.#ended(begun, requestId, status);
    const { inFlight, services } = this.options;
    const options = { requestId, cors: this.#cors.headers(head), isHead, onEnd };
    return new Exchange(res, options, { inFlight, metrics: services.metrics });
  }

  async #answer(request: AcceptedRequest, match: Match<Route>): Promise<void> {
    const { exchange, head, body } = request;
    let reply: Reply;
    try {
      // A refusal, the usual outcome under overload, needs no further turn of the event loop.
      const answer = this.#work(request, match);
      reply = answer instanceof Promise ? await answer : answer;
    } catch (error) {
      reply = errorReply(this.#toCallerError(error, exchange));
    }
    const compressed = this.#compressor.compress(reply, head);
    if (compressed instanceof Promise) reply = await compressed;
    else reply = compressed;
    const dropped = body?.drop();
    if (dropped !== undefined) await dropped;
    // While this request is unanswered, the native parser closes the connection at any byte after the last chunk.
    if (head.bodyBytes === undefined && !body?.isCut) await nextTurn();
    exchange.send(reply, this.#closing(head, body));
  }

  #closing({ isLast, bodyBytes }: RequestHead, body: BodyReader | undefined): Closing {
    if (body?.isCut) return 'we close';
    if (body?.isTooMuch) return 'client closes';
    // The native parser would take a trailer, such as one from a proxy, for a request.
    if (bodyBytes === undefined) return 'we close';
    if (isLast) return 'client closes';
    return this.#draining ? 'we close' : undefined;
  }

  #work(request: AcceptedRequest, match: Match<Route>): Reply | Promise<Reply> {
    if (match.kind === 'none') {
      const meant = this.#router.nearestTo(request.head.path);
      throw meant === undefined ? refusal('not_found', 'path') : refusal('not_found', 'nearPath', { path: meant });
    }
    if (match.kind === 'method')
      return errorReply(refusal('method_not_allowed', 'path', { methods: match.allow }), [['allow', match.allow]]);
    const { route, parameters } = match;
    const { head, exchange } = request;
    if (route.scope === null) return this.#serve(route, parameters, head);
    const caller =
      request.caller ?? this.options.authenticator.authenticate(head.authorization, () => exchange.clientAddress());
    return caller instanceof Promise
      ? this.#waits
          .within(caller, this.options.services.config.limits.deadlineMs, late)
          .then((known) => this.#admit(request, route, parameters, known))
      : this.#admit(request, route, parameters, caller);
  }

  #serve(route: ServiceRoute, parameters: readonly string[], { query }: RequestHead): Reply | Promise<Reply> {
    route.parseQuery(query);
    const { services } = this.options;
    const reply = route.handle(services, parameters);
    return reply instanceof Promise ? this.#waits.within(reply, services.config.limits.deadlineMs, late) : reply;
  }

  #admit(request: AcceptedRequest, route: Route, encoded: readonly string[], caller: Caller): Reply | Promise<Reply> {
    const refused = callRefusal(caller, route, request.head);
    const mayBeAudited = route.category !== null && this.options.services.backend.hasAudited(caller.project);
    if (refused !== undefined && !mayBeAudited) throw refused;
    if (route.category === null) return this.#serve(route, encoded, request.head);
    // Checks the capacity again: the key may have been unknown before, or the body too long for a fast refusal.
    const share = request.isInTime ? this.options.inFlight.enter(caller.project) : 'turn';
    if (typeof share === 'string') return errorReply(this.#toCallerError(overloaded(share), request.exchange));
    request.exchange.share = share;
    return this.#handle(request, { route, encoded, caller, share, refused });
  }

  async #handle(accepted: AcceptedRequest, asked: AskedRoute): Promise<Reply> {
    const { route, caller, share } = asked;
    const { limiter, inFlight, services } = this.options;
    const { exchange, head } = accepted;
    try {
      const decision = limiter.take(caller.project, route.category);
      noteWork(route.name, caller);
      assertWithinLimit(decision instanceof Promise ? await decision : decision, exchange);
      const actor = actorOf(caller, head, exchange);
      const audited = () => ({ route, head, isPacked: isPackedBody(head), actor, ...caller });
      const auditing = new Auditing(services, audited, services.backend.hasAudited(caller.project));
      const reply = await this.#runAudited(accepted, asked, { actor, auditing });
      return route.isPackable && acceptsPacked(head) ? packedReply(reply) : reply;
    } finally {
      inFlight.leave(share);
    }
  }

  /** The answer, once every access is durable in the access log of its collection. */
  async #runAudited(accepted: AcceptedRequest, asked: AskedRoute, traced: Traced): Promise<Reply> {
    try {
      const reply = await this.#run(accepted, asked, traced).catch((error: unknown) => {
        if (traced.auditing.audit === undefined) throw error;
        return errorReply(this.#toCallerError(error, accepted.exchange));
      });
      if (traced.auditing.audit !== undefined) await traced.auditing.log(reply);
      return reply;
    } finally {
      traced.auditing.end();
    }
  }

  async #run(
    accepted: AcceptedRequest,
    { route, encoded, caller, share, refused }: AskedRoute,
    { actor, auditing }: Traced,
  ): Promise<Reply> {
    const { exchange, head, body } = accepted;
    if (refused !== undefined) return auditing.refuse(refused, head, share, body);
    if (route.body === null) await auditing.audit?.keep(NO_BYTES);
    const parameters = encoded.map(decodeParameter);
    const query = route.parseQuery(head.query);
    if (route.body === null) await assertNoBody(head, share, body);
    const prepared = route.body === null ? undefined : await this.#prepared(accepted, route, share, auditing);
    noteWork(route.name, caller);
    // The deadline counts from the end of the body: the client decides how long that takes.
    const { services } = this.options;
    const { limits } = services.config;
    const deadlineMs = services.clock.nowMs() + limits.deadlineMs;
    const envelope = { requestId: exchange.requestId, deadlineMs, actor };
    const wait = <T>(shared: Promise<T>): Promise<T> =>
      this.#waits.within(exchange.whileConnected(shared), limits.deadlineMs, late);
    const { idempotencyKey, contentType } = head;
    const given = { body: prepared, query, parameters, idempotencyKey, contentType, caller, envelope, auditing };
    return this.#waits.within(
      route.handle(new HandlerRequest(services, given, wait)),
      limits[route.deadline] + OVERDUE_MS,
      late,
    );
  }

  async #prepared(
    { head, body }: AcceptedRequest,
    route: KeyedRoute,
    share: Share,
    auditing: Auditing,
  ): Promise<unknown> {
    const { bodies } = this.options;
    const kind = route.body as BodyKind;
    const form = isPackedBody(head) ? 'msgpack' : 'json';
    bodies.assertCapacity(kind, form, head.bodyBytes ?? 0, share.project);
    const bytes = await body!.read(share);
    noteWork(route.name, share);
    let isInUse = false;
    try {
      if (auditing.audit !== undefined) await auditing.audit.keep(bytes);
      const prepared = await bodies.prepare(kind, form, bytes, share.project);
      // Other kinds of body were copied while they were prepared.
      isInUse = kind === 'frames';
      return prepared;
    } finally {
      if (!isInUse) auditing.release(bytes, route.category === 'read');
    }
  }

  /** The error for the caller. Any error except a VouchError is a defect: it is logged, and its text is not sent. */
  #toCallerError(error: unknown, { requestId, isOpen }: Exchange): VouchError {
    const { logger, metrics } = this.options.services;
    if (error instanceof Overloaded) metrics.refused(error.reason);
    if (error instanceof VouchError) {
      if (error.status >= 500 && isOpen) this.#failures.note(requestId, error);
      return error;
    }
    logger.error({ requestId, err: error }, 'unexpected failure');
    return refusal('internal_error', 'failed', { requestId });
  }

  #ended({ startMs, route, body }: BegunRequest, requestId: string, status: number): void {
    const { clock, logger, metrics } = this.options.services;
    const ms = clock.monotonicMs() - startMs;
    const name = route === undefined ? 'none' : route.name;
    metrics.ended(name, status, ms, body?.receivedBytes ?? 0);
    if (logger.isLevelEnabled('debug')) logger.debug({ requestId, route: name, status, ms }, 'request');
    this.#open -= 1;
    if (this.#open === 0) this.#onDrained();
  }
}

const late = (): VouchError => refusal('unavailable', 'late');

const mayRejectFast = ({ method, bodyBytes }: RequestHead, { writeContinue }: EngineResponse): boolean =>
  bodyBytes !== undefined && bodyBytes <= DROPPED_BYTES_MAX && method !== 'HEAD' && writeContinue === undefined;
