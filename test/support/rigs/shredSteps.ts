/** Other work at each step of a shred or a write: before and after vault calls, notes, and commits of a shred. */
import { expect } from 'chai';
import { VouchError } from '../../../shared/errors/errors.js';
import type { EncryptedRig } from './encryptedRig.js';

/** Calls `onStep` at each step of the rig. */
export function onEveryStep(rig: EncryptedRig, onStep: () => Promise<void> | void): void {
  rig.vault.before = onStep;
  rig.vault.after = onStep;
  rig.onCommit = onStep;
  rig.onMark = onStep;
}

/**
 * Runs `meanwhile` once, when the work of the rig has done `step` steps, and adds it to `started`. The returned function says
 * whether that happened.
 */
export function meeting(
  rig: EncryptedRig,
  step: number,
  started: Promise<unknown>[],
  meanwhile: () => Promise<unknown>,
): () => boolean {
  let steps = 0;
  let isReached = false;
  onEveryStep(rig, async () => {
    if (steps++ !== step) return;
    isReached = true;
    onEveryStep(rig, () => undefined);
    started.push(meanwhile());
    await started.at(-1)!.catch(() => undefined);
  });
  return () => isReached;
}

/** Returns the error with which the work ends, which must be one for callers; `done` if it succeeds. */
export async function settled(work: Promise<unknown>): Promise<'done' | VouchError> {
  try {
    await work;
    return 'done';
  } catch (error) {
    expect(error).to.be.instanceOf(VouchError);
    return error as VouchError;
  }
}
