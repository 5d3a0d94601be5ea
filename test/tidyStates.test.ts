/** A class with states declares them as one union. The drawing at the head of that file names exactly these states. */
import { expect } from 'chai';
import { readSources, SOURCE_FOLDERS } from './support/sourceTree.js';
import { stateMachines } from './support/stateMachines.js';

const machines = stateMachines(readSources(SOURCE_FOLDERS.filter((folder) => folder !== 'test')));

describe('tidy states', () => {
  for (const { path, declared, drawn } of machines)
    it(`${path} draws exactly the states that it declares`, () => expect(drawn).to.deep.equal(declared));

  it('states are found in the product', () => {
    const paths = machines.map(({ path }) => path);
    expect(paths).to.include.members(['shard/follow/follower.ts', 'scripts/local/supervisor/supervisedProcess.ts']);
  });

  it('a drawing names the states between its arrows, without the labels of the arrows', () => {
    const lines = [
      'idle ──first call, by anyone──▶ opening ──▶ open',
      '  ▲                                │',
      '  └─────────────failed─────────────┘',
      'opening, open ──damage──▶ closed',
    ];
    const head = ['/**', ' * A door.', ' *', ' * ```', ...lines.map((line) => ` *   ${line}`), ' * ```', ' */'];
    const [machine] = stateMachines([{ path: 'door.ts', text: head.join('\n'), imports: [] }]);
    expect(machine).to.deep.equal({ path: 'door.ts', declared: [], drawn: ['closed', 'idle', 'open', 'opening'] });
  });

  it('a union of types with a kind declares states, also for a field in another file', () => {
    const union = `
      interface Open { readonly kind: 'open' | 'ajar'; readonly door: number }
      export type DoorState = { readonly kind: 'shut' } | Open;`;
    const door = 'class Door { #state: DoorState = SHUT; readonly #frame: FrameState = FRAME; }';
    const sources = [
      { path: 'door.ts', text: door, imports: [{ path: 'doorState.ts' }] },
      { path: 'doorState.ts', text: union, imports: [] },
      { path: 'other.ts', text: `type DoorState = 'red' | 'green';`, imports: [] },
    ];
    expect(stateMachines(sources)).to.deep.equal([
      { path: 'doorState.ts', declared: ['ajar', 'open', 'shut'], drawn: [] },
    ]);
  });

  it('a union of literals declares states', () => {
    const text = `type DoorState = 'shut' | 'open'; class Door { #now: DoorState = 'shut'; }`;
    expect(stateMachines([{ path: 'door.ts', text, imports: [] }])[0]?.declared).to.deep.equal(['open', 'shut']);
  });
});
