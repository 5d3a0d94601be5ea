/** The reads that clients have sent to collections with an access log. Each has a request id of its own, which its entry names. */
import { DOMAIN, hash, toHex } from '../../../shared/hashing/hash.js';

export interface ReadRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string | undefined;
  readonly body: Buffer;
}

/** The parts of an answer that an entry of an access log shows. Hashes are hex. */
export interface ReadAnswer {
  readonly status: number;
  readonly hash: string;
  /** Hash of the state in the answer; undefined if it names none. */
  readonly stateHash: string | undefined;
  /** Collections that did not answer a search over several. */
  readonly failed: readonly string[];
}

export interface AskedRead {
  readonly requestId: string;
  /** Method, path and query. */
  readonly line: string;
  readonly requestHash: string;
  readonly isOfPast: boolean;
  /** Names of the collections that it reads and that have an access log. */
  readonly collections: readonly string[];
  readonly sentMs: number;
  /** Undefined if no answer has arrived. */
  readonly answer: ReadAnswer | undefined;
}

interface Body {
  readonly collection?: string;
  readonly collections?: readonly string[];
}

/** An answer to a read. */
interface Content {
  readonly partial_failures?: readonly { readonly collection: string }[];
  /** Present in the answer of `GET /v1/proof/state`. */
  readonly final_state_hash?: string;
  /** Present in the answer of a search in the past; the checker compares it with the log. */
  readonly as_of_state_hash?: string;
}

export class AskedReads {
  readonly all: AskedRead[] = [];

  constructor(private readonly audited: ReadonlySet<string>) {}

  /** Call it for each request that is sent. Returns the receiver of its answer; undefined for other requests. */
  sent(requestId: string, request: ReadRequest, sentMs: number): ((status: number, body: Buffer) => void) | undefined {
    const collections = readBy(request).filter((name) => this.audited.has(name));
    if (collections.length === 0) return undefined;
    const { method, path, query, body } = request;
    const line = `${method} ${path}${query === undefined ? '' : `?${query}`}`;
    const read = {
      ...{ requestId, line, collections, sentMs },
      requestHash: hashed(DOMAIN.accessRequest, Buffer.from(`${line}\n`), body),
      isOfPast: /"as_of_log_index":\d/.test(body.toString()),
      answer: undefined as ReadAnswer | undefined,
    };
    this.all.push(read);
    return (status, bytes) => {
      read.answer = { status, hash: hashed(DOMAIN.accessAnswer, bytes), ...shownIn(status, bytes) };
    };
  }
}

function shownIn(status: number, body: Buffer): Pick<ReadAnswer, 'stateHash' | 'failed'> {
  if (status >= 400) return { stateHash: undefined, failed: [] };
  const {
    partial_failures = [],
    final_state_hash: present,
    as_of_state_hash: past,
  } = JSON.parse(body.toString()) as Content;
  return { stateHash: past ?? present, failed: partial_failures.map(({ collection }) => collection) };
}

/** Names of the collections that a request of a soak's client reads. */
function readBy({ method, path, query, body }: ReadRequest): readonly string[] {
  if (method === 'GET') return new URLSearchParams(query).getAll('collection');
  if (!path.startsWith('/v1/search')) return [];
  const { collection, collections = [] } = JSON.parse(body.toString()) as Body;
  return collection === undefined ? collections : [collection];
}

const hashed = (domain: number, ...parts: readonly Buffer[]): string =>
  toHex(hash(Buffer.concat([Buffer.from([domain]), ...parts])));
