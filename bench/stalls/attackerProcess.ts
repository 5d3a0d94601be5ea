/** A process that attacks. Carries out the calls of `attacker.ts`, one after the other. */
import { messageOf } from '../../shared/errors/errors.js';
import { Asker } from './asker.js';
import type { AttackerAnswer, AttackerCall } from './attackerCalls.js';
import { type Attack, Stage } from './stage.js';
import { WORST_INPUTS } from './table.js';

let stage: Stage;
let attack: Attack;
let isOver = false;
let attacks: Promise<number>;

async function repeat(): Promise<number> {
  let count = 0;
  for (; !isOver; count++) await attack();
  return count;
}

async function carryOut(call: AttackerCall): Promise<number> {
  switch (call.op) {
    case 'target':
      stage = new Stage(new Asker(call.url, call.key));
      return 0;
    case 'prepare': {
      const row = WORST_INPUTS[call.endpoint];
      if (row === undefined || 'small' in row) throw new Error(`the table has no inputs for ${call.endpoint}`);
      attack = await row[call.place]!.prepare(stage);
      return 0;
    }
    case 'begin':
      isOver = false;
      attacks = repeat();
      attacks.catch(() => undefined);
      return 0;
    case 'end':
      isOver = true;
      return attacks;
    case 'clean':
      await stage.clean();
      return 0;
  }
}

process.on('message', async (call: AttackerCall) => {
  const answer: AttackerAnswer = await carryOut(call).then(
    (attacked) => ({ attacked }),
    (error: unknown) => ({ failure: messageOf(error) }),
  );
  process.send?.(answer);
});
