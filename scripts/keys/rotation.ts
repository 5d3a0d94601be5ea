/** The rotation of the master key, as a person sees it. */
import { systemEntropy } from '../../shared/clock.js';
import type { VaultStore } from '../../shared/vault/vaultStore.js';
import { grouped, say } from '../terminal/line.js';
import { type Progress, showProgress } from '../terminal/progress.js';
import type { Request } from './request.js';
import { rotateMaster } from './rotateMaster.js';

type RotationRequest = Extract<Request, { readonly command: 'rotate-master' }>;

/** Throws an Error of one line that says what to do. */
export async function runRotation(request: RotationRequest, vault: VaultStore, masterKeyFile: string): Promise<void> {
  const shown = new RewrapProgress();
  const { prepareOnly, forgetDamaged } = request;
  const onProgress = (done: number, total: number): void => shown.show(done, total);
  try {
    const options = { vault, masterKeyFile, entropy: systemEntropy, prepareOnly, forgetDamaged, onProgress };
    const { outcome, oldId, newId, rewrapped } = await rotateMaster(options);
    if (outcome === 'prepared') {
      say('done', 'master key', `${newId} stands beside ${oldId} in ${masterKeyFile}, and is not used yet`);
      say(
        'plain',
        'next',
        `copy ${masterKeyFile} to every other machine with shards, then: npm run keys -- rotate-master`,
      );
      return;
    }
    say(
      'done',
      'master key',
      `${newId} has replaced ${oldId}, which is erased; data keys wrapped anew: ${grouped(rewrapped)}`,
    );
    say(
      'warning',
      'next',
      `copy ${masterKeyFile} over that of every other machine with shards, and over every backup of it`,
    );
  } catch (error) {
    shown.abandon();
    throw error;
  }
}

/** A bar for each look through the vault that finds something to do. */
class RewrapProgress {
  #progress: Progress | undefined;

  show(done: number, total: number): void {
    this.#progress ??= showProgress('vault', total, 'wrapped');
    this.#progress.advance(1);
    if (done < total) return;
    this.#progress.finish();
    this.#progress = undefined;
  }

  abandon(): void {
    this.#progress?.abandon();
  }
}
