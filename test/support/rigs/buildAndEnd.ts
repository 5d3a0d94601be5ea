/** A program that builds one generation in the given folder and then has no more work. Tests start it. */
import { GenerationStore } from '../../../shard/index/store/generationStore.js';
import { VectorBlocks } from '../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../shard/kernel/vectorMemory.js';
import { silentLogger } from '../../../shared/logger.js';
import { newBuildThread, orderOf } from './generations.js';

const store = await GenerationStore.open(process.argv[2]!, silentLogger);
const vectors = new VectorBlocks(new VectorMemory(), 4);
for (let id = 1; id <= 1_000; id++) {
  const slot = vectors.acquire();
  vectors.write(slot, id, new Uint8Array(Int32Array.of(id, -id, 2 * id, 1).buffer));
  vectors.publish(slot);
}
await newBuildThread().build(orderOf(store, vectors, 1), { project: 'p', urgent: true }).done;
process.stdout.write('built\n');
