/** Waiting for a build of an index. */
import { assertedMs, sleep } from './clock.js';
import type { IndexState } from './contract/collections.js';
import { IndexBuildError } from './errors.js';
import { assertKnown, assertPlain } from './exact.js';
import type { CallOptions } from './http.js';

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** How often the state is asked for. Default 500. */
  readonly pollMs?: number | undefined;
}

const POLL_MS = 500;

/** Waits as long as the build takes, unless the signal is aborted. */
export async function waitForIndex(
  collection: { index(options: CallOptions): Promise<IndexState> },
  options: WaitOptions,
): Promise<IndexState> {
  assertPlain(options, 'options');
  assertKnown(options, ['signal', 'pollMs'], 'options');
  const { signal, pollMs = POLL_MS } = options;
  assertedMs('pollMs', pollMs);
  for (;;) {
    const state = await collection.index({ signal });
    if (state.status === 'failed')
      throw new IndexBuildError(
        'index_build_failed',
        `the build of the index failed: ${state.error ?? 'no reason given'}`,
      );
    if (state.status !== 'building') return state;
    await sleep(pollMs, signal);
  }
}
