/** A command beside a simulated service, as a process of its own on one of its machines. */
import type { Party } from '../world/party.js';
import type { World } from '../world/world.js';
import type { Victim } from './point.js';

export class Tool implements Victim {
  #party: Party | undefined;

  constructor(
    private readonly world: World,
    readonly machine: string,
  ) {}

  readonly party = (): Party | undefined => this.#party;

  readonly kill = (): void => this.#party?.end();

  /** Rejects if the process is killed. */
  async run(work: () => Promise<void>): Promise<void> {
    const { world } = this;
    const party = world.addParty('tool', this.machine);
    this.#party = party;
    const caller = world.party;
    const killed = new Promise<never>((_, reject) => {
      party.onEnd(() => world.at(caller, 0, 'tool ended', () => reject(new Error('the tool was killed'))));
    });
    await Promise.race([world.runIn(party, work), killed]).finally(() => party.end());
  }
}
