/** What the judges inside a world have found. */
import type { World } from '../world/world.js';

/** Of one world; more say no more. */
const KEPT_MAX = 20;

export class Findings {
  readonly all: string[] = [];

  constructor(readonly world: World) {}

  add(what: string): void {
    this.world.note(`judged wrong: ${what}`, 'judge');
    if (this.all.length < KEPT_MAX) this.all.push(`judged wrong: ${what}`);
  }
}
