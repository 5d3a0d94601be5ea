/** Findings of the judges inside a world. */
import type { World } from '../world/world.js';

/** Most findings of one world; more add no information. */
const KEPT_MAX = 20;

export class Findings {
  readonly all: string[] = [];

  constructor(readonly world: World) {}

  add(what: string): void {
    this.world.note(`judged wrong: ${what}`, 'judge');
    if (this.all.length < KEPT_MAX) this.all.push(`judged wrong: ${what}`);
  }
}
