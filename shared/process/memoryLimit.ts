import { totalmem } from 'node:os';

/** The memory available to this process: the limit of its container (cgroup v1 and v2), or the machine's memory. */
export function systemMemoryBytes(): number {
  const total = totalmem();
  const constrained = process.constrainedMemory();
  // Without a limit Node returns 0, or a number above the memory of the machine.
  return constrained > 0 && constrained < total ? constrained : total;
}
