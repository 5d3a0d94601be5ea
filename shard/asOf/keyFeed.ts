/** The keys of contents for the thread of past states. The owner's thread has the vault. Keys are moved, never copied. */
import { on } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import type { ThreadOutcome } from '../../shared/process/workerThread.js';
import type { KeySource } from '../vault/contentKeys.js';
import { asOfOutcome, type KeyRequest, unwrapAsOf } from './messages.js';

type Keys = Awaited<ReturnType<KeySource>>;

/** Reads keys through the other thread; `request` sends a request there. Throws its error, or one if it never answers. */
export const fedKeys =
  (request: (request: KeyRequest) => void): KeySource =>
  async (keyIds) => {
    const { port1, port2 } = new MessageChannel();
    try {
      const answers = on(port1, 'message', { close: ['close'] }) as AsyncIterable<[ThreadOutcome<Keys>]>;
      request({ keyIds, port: port2 });
      for await (const [outcome] of answers) return unwrapAsOf(outcome);
      throw new Error('the reading of keys ended without an outcome');
    } finally {
      port1.close();
    }
  };

/** Answers a request of the other thread. */
export async function feedKeys(source: KeySource, { keyIds, port }: KeyRequest): Promise<void> {
  const outcome = await asOfOutcome(() => source(keyIds));
  const keys = outcome.ended === 'well' ? outcome.answer : [];
  try {
    port.postMessage(
      outcome,
      keys.flatMap((key) => (key === null ? [] : [key.buffer as ArrayBuffer])),
    );
  } finally {
    port.close();
  }
}
