/** The access log of a collection: who has read it. Its calls need a key of the scope `admin`. */
import { isoDates } from './clock.js';
import type { AccessCheckpointResponse, AccessEntry, AccessResponse } from './contract/access.js';
import { assertPlain, withOwn } from './exact.js';
import { type CallOptions, type Http, split } from './http.js';
import type { TimelineOptions } from './options.js';

/** Entries between two instants. `after` is the number of the last entry that you have. */
export type AccessOptions = TimelineOptions;

const PAGE_ENTRIES = 1_000;

export class AccessLog {
  constructor(
    private readonly http: Http,
    private readonly collection: string,
  ) {}

  /** The entries in order; each page is requested when the one before it was read. */
  async *entries(options: AccessOptions = {}): AsyncGenerator<AccessEntry, void, undefined> {
    assertPlain(options, 'the request');
    for (let page: AccessOptions = { limit: PAGE_ENTRIES, ...options }; ; ) {
      const { entries, next } = await this.page(page);
      yield* entries;
      if (next == null) return;
      page = { ...page, after: next };
    }
  }

  /** A copy of the log as it is stored, in pieces, from its first kept entry on: `npm run verify -- access` checks it. */
  async *copy(options: CallOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    for (let from: number | undefined; ; ) {
      const query = { collection: this.collection, ...(from !== undefined && { from }) };
      const call = { method: 'GET', path: '/v1/access/log', of: 'AccessLogQuery', query, repeat: 'safe' } as const;
      const { bytes, headers } = await this.http.send(call, options);
      if (bytes.length === 0) return;
      yield bytes;
      const last = Number(headers.get('vouch-last-sequence'));
      if (last >= Number(headers.get('vouch-log-sequence'))) return;
      from = last + 1;
    }
  }

  /** The newest state of the log that is in the service log, with the proof; later entries are logged first. */
  checkpoint(options: CallOptions = {}): Promise<AccessCheckpointResponse> {
    const query = { collection: this.collection };
    return this.http.json({ method: 'GET', path: '/v1/access/checkpoint', query, repeat: 'safe' }, options);
  }

  page(options: AccessOptions = {}): Promise<AccessResponse> {
    const [given, call] = split(options);
    const query = withOwn(isoDates(given), { collection: this.collection });
    return this.http.json({ method: 'GET', path: '/v1/access', of: 'AccessQuery', query, repeat: 'safe' }, call);
  }
}
