/** Reads the stored log of a collection in pieces. */
import { assertPlain } from './exact.js';
import type { CallOptions, Http } from './http.js';

export interface ExportPiece {
  /** Whole frames, each after its length as a little-endian u32. */
  readonly bytes: Uint8Array;
  /** The last event in them. */
  readonly lastSequence: number;
}

/**
 * Requests piece after piece, up to the end of the log at the time of the last answer. An event may be in two pieces, if a later
 * piece begins with a frame that contains `from`.
 */
export async function* exportLog(
  http: Http,
  collection: string,
  options: CallOptions & { readonly from?: number },
): AsyncGenerator<ExportPiece, void, undefined> {
  assertPlain(options, 'the options');
  const { from, ...call } = { from: 0, ...options };
  for (let next = from; ; ) {
    const query = { collection, from: next };
    const asked = { method: 'GET', path: '/v1/export/log', of: 'ExportLogQuery', query, repeat: 'safe' } as const;
    const { bytes, headers } = await http.send(asked, call);
    if (bytes.length === 0) return;
    const lastSequence = Number(headers.get('vouch-last-sequence'));
    yield { bytes, lastSequence };
    if (lastSequence >= Number(headers.get('vouch-log-sequence'))) return;
    next = lastSequence + 1;
  }
}
