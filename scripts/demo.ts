/** `npm run demo`: shows the service with handwritten digits, on a temporary cluster. */
import { Vouch } from '../client/index.js';
import { systemClock } from '../shared/clock.js';
import { killShard, recover } from './demo/chapters/failure.js';
import { load } from './demo/chapters/load.js';
import { receipt } from './demo/chapters/receipt.js';
import { searchBoth, searchOne } from './demo/chapters/search.js';
import { type DemoCluster, Interrupted, withCluster } from './demo/cluster.js';
import { readDeal } from './demo/digits.js';
import { chapter, durationText, fact, gap, tell } from './demo/story.js';
import { commandText, parseFlags, runCommand } from './terminal/commandLine.js';
import { say } from './terminal/line.js';
import { EXIT_INTERRUPTED } from './terminal/signals.js';

async function tour(cluster: DemoCluster): Promise<void> {
  const vouch = new Vouch({ url: cluster.url, apiKey: cluster.key });
  const guided = { cluster, vouch, options: { signal: cluster.interrupted }, deal: await readDeal() };
  gap();
  chapter(2, 'Ten thousand handwritten digits');
  const loaded = await load(guided);
  chapter(3, 'Search a collection');
  await searchOne(guided, loaded);
  chapter(4, 'Search both at once');
  await searchBoth(guided, loaded);
  chapter(5, 'A receipt for a write');
  const written = await receipt(guided);
  chapter(6, 'A shard dies');
  const killed = await killShard(guided, loaded);
  chapter(7, 'And its collection comes back');
  await recover(guided, loaded, killed, written);
}

async function show(): Promise<void> {
  const startedMs = systemClock.monotonicMs();
  chapter(1, 'A cluster');
  tell(
    'Vouch keeps vectors in collections, finds the nearest ones exactly, and can prove what it stored. This demo shows ' +
      'it on a cluster of its own, with free ports and a temporary folder that is deleted in the end.',
  );
  await withCluster(tour);
  const took = durationText(systemClock.monotonicMs() - startedMs);
  fact('done', 'the end', `every check passed, in ${took}; the temporary folder is deleted`);
  fact('plain', 'your turn', `${commandText('start')}, and the tour in docs/tour.md`);
}

const USAGE = `${commandText('demo')}

Takes no arguments, and no settings: it has a cluster of its own, on free ports and in a temporary folder.`;

await runCommand({ name: 'demo', usage: USAGE }, async (args) => {
  parseFlags({ args: [...args], options: {} });
  try {
    await show();
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    say('plain', 'stopped', 'the temporary folder is deleted');
    process.exit(EXIT_INTERRUPTED);
  }
});
