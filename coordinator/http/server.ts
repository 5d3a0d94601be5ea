/**
 * The HTTP server: takes requests in, sees each through to its answer, and stops without losing one.
 *
 *   listening ──stop()──▶ draining (no new connection; each answer ends its connection) ──▶ closed
 */
import { App, type HttpRequest, type HttpResponse, us_listen_socket_close } from 'uWebSockets.js';
import type { Clock } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { BodyPool } from '../body/bodyPool.js';
import type { Route, Services } from '../handlers/route.js';
import type { InFlight } from '../limits/inFlight.js';
import type { EdgeMetrics } from '../metrics.js';
import type { Admission } from './admission.js';
import { BodyReader } from './bodyReader.js';
import { Exchange } from './exchange.js';
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
}

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
      await requests.drain(drainMs);
      app.close();
    },
  };
}

class Requests {
  readonly #router: Router<Route>;
  #open = 0;
  #draining = false;
  #onDrained: () => void = () => {};

  constructor(private readonly parts: ServerParts) {
    this.#router = new Router(parts.routes);
  }

  take(res: HttpResponse, req: HttpRequest): void {
    const { clock, inFlight, bodyBytesMax, freshRequestId } = this.parts;
    const startMs = clock.monotonicMs();
    const head = readHead(req);
    const match = this.#router.match(head.method, head.path);
    const route = match.kind === 'route' ? match.route : undefined;
    const body =
      route === undefined || route.body === null
        ? undefined
        : new BodyReader(res, head.bodyBytes, bodyBytesMax, inFlight);
    const exchange = new Exchange(res, head.requestId ?? freshRequestId(), head.method === 'HEAD', (status) =>
      this.#ended(route, exchange.requestId, status, startMs, body?.receivedBytes ?? 0),
    );
    if (body !== undefined) exchange.onAbort(() => body.abort());
    this.#open += 1;
    void this.#answer(exchange, head, match, body);
  }

  /** Resolves when no request is under way, or after `drainMs`. */
  drain(drainMs: number): Promise<void> {
    this.#draining = true;
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, drainMs);
      this.#onDrained = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #answer(exchange: Exchange, head: RequestHead, match: Match<Route>, body?: BodyReader): Promise<void> {
    let reply: Reply;
    try {
      reply = await this.#work(exchange, head, match, body);
    } catch (error) {
      reply = errorReply(this.#shown(error, exchange));
    }
    body?.drop();
    exchange.send(reply, this.#draining);
  }

  async #work(exchange: Exchange, head: RequestHead, match: Match<Route>, body?: BodyReader): Promise<Reply> {
    if (match.kind === 'none') throw new VouchError('not_found', 'there is nothing at this path');
    if (match.kind === 'method')
      return errorReply(new VouchError('method_not_allowed', `this path takes ${match.allow}`), [
        ['allow', match.allow],
      ]);
    const { admission, inFlight, services } = this.parts;
    const { route } = match;
    if (route.scope === null) return route.handle(services);
    const caller = await admission.admit(route, head, exchange);
    inFlight.enter();
    try {
      const parameters = match.parameters.map(decodeParameter);
      const query = route.parseQuery?.(head.query);
      const prepared =
        route.body === null ? undefined : await this.parts.bodies.prepare(route.body, await body!.read());
      const envelope = { requestId: exchange.requestId, deadlineMs: this.#deadlineMs() };
      const { idempotencyKey } = head;
      return await route.handle({ caller, body: prepared, query, parameters, idempotencyKey, envelope }, services);
    } finally {
      inFlight.leave();
    }
  }

  /** Counted from the arrival of the whole body: how long that takes is the client's affair. */
  #deadlineMs(): number {
    return this.parts.clock.nowMs() + this.parts.deadlineMs;
  }

  /** What a caller may see of a failure. Anything but a VouchError is a defect: it is logged and says nothing outside. */
  #shown(error: unknown, { requestId, isOpen }: Exchange): VouchError {
    const { logger } = this.parts;
    if (error instanceof VouchError) {
      if (error.status >= 500 && isOpen)
        logger.warn({ requestId, code: error.code, error: error.message }, 'request failed');
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
