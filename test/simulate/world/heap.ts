/** Tasks of a world by time; tasks of one time stay in order of insertion. */
import type { Party } from './party.js';

export interface Task {
  timeMs: number;
  order: number;
  readonly party: Party;
  readonly kind: string;
  run: (() => void) | undefined;
}

const isBefore = (a: Task, b: Task): boolean => a.timeMs < b.timeMs || (a.timeMs === b.timeMs && a.order < b.order);

export class TaskHeap {
  readonly #tasks: Task[] = [];

  get size(): number {
    return this.#tasks.length;
  }

  push(task: Task): void {
    const tasks = this.#tasks;
    let at = tasks.length;
    tasks.push(task);
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (!isBefore(task, tasks[up]!)) break;
      tasks[at] = tasks[up]!;
      at = up;
    }
    tasks[at] = task;
  }

  pop(): Task | undefined {
    const tasks = this.#tasks;
    const first = tasks[0];
    const last = tasks.pop();
    if (first === undefined || last === undefined || tasks.length === 0) return first;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= tasks.length) break;
      if (down + 1 < tasks.length && isBefore(tasks[down + 1]!, tasks[down]!)) down++;
      if (!isBefore(tasks[down]!, last)) break;
      tasks[at] = tasks[down]!;
      at = down;
    }
    tasks[at] = last;
    return first;
  }
}
