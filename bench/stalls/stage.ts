/** The service that one client attacks. It has collections for a single attack, and shared ones that attacks only read. */
import { type Answered, type Asker, type Body, taken } from './asker.js';
import { type CraftedLog, framesBody } from './craftedLog.js';

/** Records to insert. Each list has `count` entries. */
export interface Records {
  readonly count: number;
  /** Objects, or JSON of them. */
  readonly metadata?: readonly (object | string)[];
  readonly texts?: readonly string[];
  readonly externalIds?: readonly string[];
}

export type Query = Readonly<Record<string, string | number>>;
/** Sends the measured requests. */
export type Attack = () => Promise<readonly Answered[]>;

/** Bytes of one insert, below the bounds of a body and a commit. */
const INSERT_BYTES = 8 << 20;
/** Bytes of one insert before an attack, few enough for a busy machine to answer within the deadline. */
const PREPARED_BYTES = 1 << 20;
const BATCH_MAX = 16_384;
const IMPORT_BYTES = 8 << 20;

export class Stage {
  readonly #shared = new Map<string, Promise<string>>();
  readonly #own: string[] = [];
  #names = 0;

  /** `client`: with an admin's key. `searched`: more fields of each search. */
  constructor(
    readonly client: Asker,
    private readonly searched: object = {},
  ) {}

  /** A new collection of dimension 1, which is deleted after the attack. */
  async collection(more: object = {}): Promise<string> {
    const name = this.newName();
    taken(await this.client.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2', ...more }));
    return name;
  }

  /** Returns a name for a collection that the attack makes. The collection is deleted after the attack. */
  newName(): string {
    const name = `c${++this.#names}`;
    this.#own.push(name);
    return name;
  }

  /** A collection that attacks only read, made by the first of them. */
  shared(what: string, make: () => Promise<string>): Promise<string> {
    let made = this.#shared.get(what);
    if (made === undefined) {
      made = make().then((name) => {
        this.#own.splice(this.#own.indexOf(name), 1);
        return name;
      });
      this.#shared.set(what, made);
    }
    return made;
  }

  /** Deletes the collections that are not shared. */
  async clean(): Promise<void> {
    for (const name of this.#own.splice(0)) await this.client.ask('DELETE', `/v1/namespaces/${name}`);
  }

  /** A new collection with these records. */
  async filled(records: Records, more: object = {}): Promise<string> {
    const collection = await this.collection(more);
    for (const body of insertsOf(collection, records, PREPARED_BYTES))
      taken(await this.client.post(insertPath(records), body));
    return collection;
  }

  /** A new collection with this log. */
  async imported(log: CraftedLog): Promise<string> {
    const name = this.newName();
    taken(await this.client.post('/v1/import', { ...log.facts, name }));
    for (const body of importBodies(log)) taken(await this.client.post(`/v1/import/${name}/log`, body));
    taken(await this.client.post(`/v1/import/${name}/finish`, ''));
    return name;
  }

  /** Prepares one POST. */
  post(path: string, body: Body, type?: string): Attack {
    const isObject = typeof body === 'object' && !(body instanceof Uint8Array);
    const whole = isObject && path.startsWith('/v1/search') ? { ...body, ...this.searched } : body;
    const sent = typeof whole === 'string' || whole instanceof Uint8Array ? whole : JSON.stringify(whole);
    return async () => [await this.client.post(path, sent, type)];
  }

  /** Prepares one GET. */
  get(path: string, query: Query = {}): Attack {
    const parameters = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return async () => [await this.client.get(`${path}?${parameters.join('&')}`)];
  }

  /** Prepares one request without a body. */
  ask(method: string, path: string): Attack {
    return async () => [await this.client.ask(method, path)];
  }
}

export const insertPath = ({ externalIds }: Records): string =>
  externalIds === undefined ? '/v1/vectors/batch-insert' : '/v1/vectors/batch-upsert';

/** The bodies of inserts of the records, as few as possible. */
export function* insertsOf(collection: string, records: Records, bytesMax = INSERT_BYTES): Generator<string> {
  const { count, metadata, texts, externalIds } = records;
  const fields = [metadata, texts, externalIds].map((list) => list?.map((value) => JSON.stringify(value)));
  for (let from = 0; from < count; ) {
    let bytes = 0;
    let to = from;
    do bytes += 8 + fields.reduce((sum, list) => sum + (list?.[to]?.length ?? 0), 0);
    while (++to < count && to - from < BATCH_MAX && bytes < bytesMax);
    const vectors = Array.from({ length: to - from }, (_, i) => `[${(from + i) % 1_000}]`);
    const named = ['metadata', 'texts', 'external_ids'].flatMap((name, i) =>
      fields[i] === undefined ? [] : [`"${name}":[${fields[i].slice(from, to).join()}]`],
    );
    yield `{${[`"collection":"${collection}"`, `"batch":[${vectors.join()}]`, ...named].join()}}`;
    from = to;
  }
}

function* importBodies({ frames }: CraftedLog): Generator<Buffer> {
  for (let from = 0; from < frames.length; ) {
    let bytes = 0;
    let to = from;
    do bytes += frames[to]!.length;
    while (++to < frames.length && bytes < IMPORT_BYTES);
    yield framesBody(frames.slice(from, to));
    from = to;
  }
}
