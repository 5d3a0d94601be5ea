/** Imported frames: whatever is sent, the result is the announced collection, or none. */
import { joinFrames } from '../../../coordinator/body/frames.js';
import { atOnce } from '../../../shared/scheduling/slice.js';
import { begin, exported, fill, finish, send } from '../../support/rigs/backups.js';
import { FuzzedService } from '../service.js';
import type { FuzzTarget } from '../target.js';

export const imports: FuzzTarget = {
  name: 'imports',
  open: async () => {
    const service = await FuzzedService.start();
    const client = await service.client('p');
    await fill(client, 'source');
    const source = await exported(client, 'source');
    await begin(client, source, 'copy');
    const whole = Buffer.from(atOnce(joinFrames([...source.frames])));
    return {
      samples: [whole, ...source.frames.map((frame) => Buffer.from(atOnce(joinFrames([frame]))))],
      tryOne: async (input) => {
        const { status, text } = await client.postBytes('/v1/import/copy/log', Buffer.from(input));
        if (status !== 200 && status !== 400 && status !== 413) throw new Error(`answered ${status}: ${text}`);
        return status === 200 ? 'taken' : 'refused';
      },
      close: async () => {
        await send(client, 'copy', source.frames);
        const finished = await finish(client, 'copy');
        const proof = await client.get('/v1/proof/state?collection=copy');
        await service.stop();
        if (finished.status !== 200) throw new Error(`the import cannot be finished: ${finished.text}`);
        if (proof.body.final_state_hash !== source.facts.state_hash)
          throw new Error('the imported collection is another one');
      },
    };
  },
};
