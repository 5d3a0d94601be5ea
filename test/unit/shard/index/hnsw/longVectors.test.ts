// Covers: shard/index/hnsw/segment.ts
import { expect } from 'chai';
import { nextTurn } from '../../../../../shared/scheduling/slice.js';
import { Collection, hnswRig, times } from '../../../../support/rigs/hnswRig.js';

const LONG_DIMENSION = 4_096;

describe('the HNSW index of long vectors', () => {
  const rig = hnswRig(LONG_DIMENSION);

  it('pauses in a wide search, and does not propose a row that is removed meanwhile', async () => {
    const collection = new Collection(rig.folder, LONG_DIMENSION);
    times(4_500, () => collection.insert(rig.vector()));
    const { path, recordIds } = await collection.build('payload', { m: 8, efConstruction: 16 });
    let onPause: () => void = () => undefined;
    let pauses = 0;
    const serving = rig.kept(
      await collection.open(path, recordIds, { m: 8, efConstruction: 16, efSearch: 4_096 }, () => {
        pauses++;
        onPause();
        return nextTurn();
      }),
    );
    const query = rig.vector();
    const [narrow] = await serving.index.candidates(query, 1, undefined);
    pauses = 0;
    const before = await serving.index.candidates(query, 4_000, undefined);
    expect(pauses).to.be.at.least(1);
    expect(before.length).to.be.at.least(4_000);
    expect([...before]).to.include(narrow);
    onPause = () => {
      onPause = () => undefined;
      serving.remove(narrow!);
    };
    const after = await serving.index.candidates(query, 4_000, undefined);
    expect([...after]).to.not.include(narrow);
    expect(after.length).to.be.at.least(before.length - 1);
  });
});
