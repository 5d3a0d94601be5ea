/** The reads that clients have sent to collections with an access log. Each has a request id of its own, which its entry names. */
import type { HttpAnswer, SentRequest } from '../http/engine.js';
import type { World } from '../world/world.js';

export interface AskedRead {
  readonly requestId: string;
  readonly request: SentRequest;
  /** Names of the collections that it reads and that have an access log. */
  readonly collections: readonly string[];
  /** Simulated time. */
  readonly sentMs: number;
  /** Undefined if no answer has arrived. */
  readonly answer: HttpAnswer | undefined;
}

interface Body {
  readonly collection?: string;
  readonly collections?: readonly string[];
}

export class AskedReads {
  readonly all: AskedRead[] = [];

  constructor(
    private readonly world: World,
    private readonly audited: ReadonlySet<string>,
  ) {}

  /** Call it before a request is sent; `request` of the result is to be sent instead. Undefined for other requests. */
  sent(given: SentRequest): { readonly request: SentRequest; answered(answer: HttpAnswer): void } | undefined {
    const collections = readBy(given).filter((name) => this.audited.has(name));
    if (collections.length === 0) return undefined;
    const requestId = `read-${this.all.length + 1}`;
    const request = { ...given, headers: { ...given.headers, 'x-request-id': requestId } };
    const read = {
      requestId,
      request,
      collections,
      sentMs: this.world.nowMs,
      answer: undefined as HttpAnswer | undefined,
    };
    this.all.push(read);
    const answered = (answer: HttpAnswer): void => {
      read.answer = answer;
    };
    return { request, answered };
  }
}

/** Names of the collections that a request of a soak's client reads. */
function readBy({ method, path, query, body }: SentRequest): readonly string[] {
  if (method === 'GET') return new URLSearchParams(query).getAll('collection');
  if (!path.startsWith('/v1/search')) return [];
  const { collection, collections = [] } = JSON.parse(body.toString()) as Body;
  return collection === undefined ? collections : [collection];
}
