/** The findings of the judges that work inside a world. */
import type { World } from '../world/world.js';

/** Largest number of findings that are kept for one world. More add no information. */
const KEPT_MAX = 20;

export class Findings {
  readonly all: string[] = [];

  constructor(readonly world: World) {}

  /** Adds a finding. */
  add(what: string): void {
    this.world.note(`a judge found: ${what}`, 'judge');
    if (this.all.length < KEPT_MAX) this.all.push(`a judge found: ${what}`);
  }
}
