import { setTimeout as delay } from 'node:timers/promises';

const LOOK_MS = 10;

export interface Settling {
  readonly status: string;
  readonly error?: string | null;
}

/** Resolves when the index serves. Throws an Error if its build failed. */
export async function settled(state: () => Promise<Settling>): Promise<void> {
  for (;;) {
    const { status, error } = await state();
    if (error) throw new Error(`the index was not built: ${error}`);
    if (status === 'active') return;
    await delay(LOOK_MS);
  }
}
