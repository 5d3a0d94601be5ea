/** The load of a soak: clients and collections. */

import { replicasFor } from '../../scripts/local/natsServer/serverPlan.js';
import type { LogFile } from '../../scripts/local/supervisor/logFile.js';
import { AskedReads } from './access/askedReads.js';
import { Draws } from './clients/choices/draws.js';
import { Client } from './clients/client.js';
import { createCollections } from './clients/createCollections.js';
import { exchangeWith } from './clients/httpCall.js';
import { Known } from './clients/known.js';
import { KnownIds } from './clients/knownIds.js';
import { Recorder } from './clients/recorder.js';
import type { SoakCluster } from './cluster/soakCluster.js';
import type { SoakOptions } from './options.js';
import { OutdatedReader, type OutdatedReads } from './outdated/outdatedReader.js';
import { seededRandom } from './random.js';
import type { LogOf } from './readLogs.js';
import { type CollectionShape, shapesOf } from './shapes.js';

const auditedIn = (shapes: readonly CollectionShape[]): ReadonlySet<string> =>
  new Set(shapes.filter(({ auditReads }) => auditReads).map(({ name }) => name));

/** An alias leads to one of several collections, so their access logs would have reads that name none. */
const isAliased = ({ index, dimension, auditReads }: CollectionShape): boolean =>
  index === 'none' && dimension === ALIASED_DIMENSION && auditReads !== true;
const ALIASED_DIMENSION = 4;

interface Readers {
  readonly clients: readonly Client[];
  readonly outdated: OutdatedReader;
  readonly reads: AskedReads;
}

export class Load {
  private constructor(
    readonly collections: readonly LogOf[],
    /** Indexed collections → the kind they are created with. */
    readonly indexed: ReadonlyMap<string, string>,
    readonly recorder: Recorder,
    private readonly readers: Readers,
    readonly key: string,
  ) {}

  /** Reads of collections with an access log. */
  get reads(): AskedReads {
    return this.readers.reads;
  }

  static async open(options: SoakOptions, cluster: SoakCluster, history: LogFile): Promise<Load> {
    const { coordinators } = cluster;
    const key = await cluster.makeKey('read_write');
    const shapes = shapesOf(options.collections);
    const names = shapes.map(({ name }) => name);
    const indexed = new Map(shapes.flatMap(({ name, index }) => (index === 'none' ? [] : [[name, 'none'] as const])));
    const recorder = new Recorder(history);
    const aliased = shapes.filter(isAliased).map(({ name }) => name);
    const keys = new KnownIds<string>();
    const reads = new AskedReads(auditedIn(shapes));
    const exchange = exchangeWith(reads);
    const known = new Map(shapes.map((shape) => [shape.name, new Known(shape, keys)]));
    const [via, address] = [...coordinators][0]!;
    const draws = new Draws(0, seededRandom(options.seed));
    const collections = await createCollections(shapes, { address, via, key, draws, recorder, exchange });
    for (const call of recorder.calls) known.get(call.collection)?.learn(call);
    const clients = Array.from({ length: options.clients }, (_, i) => {
      // Each collection has clients of its own, so that an unserved one does not silence the others.
      const own = i % names.length;
      return new Client({
        ...{ number: i + 1, coordinators, key, keys, known, recorder, exchange },
        collections: [...names.slice(own), ...names.slice(0, own)],
        random: seededRandom(options.seed + i + 1),
        thinkMs: (1_000 * options.clients) / options.rate,
        ...{ hasEventual: options.followers > 0, aliased },
      });
    });
    const outdated = await OutdatedReader.open({
      ...{ collections, known, recorder },
      natsUrl: cluster.natsUrl,
      login: cluster.loginAs('coordinator'),
      replicas: replicasFor(options.servers),
      hasFollowers: options.followers > 0,
      random: seededRandom(options.seed + options.clients + 1),
    });
    return new Load(collections, indexed, recorder, { clients, outdated, reads }, key);
  }

  /** Collections with an access log that was read. */
  get audited(): readonly LogOf[] {
    const names = new Set(this.reads.all.flatMap(({ collections }) => collections));
    return this.collections.filter(({ name }) => names.has(name));
  }

  start(): void {
    for (const client of this.readers.clients) client.start();
    this.readers.outdated.start();
  }

  /** Resolves when the last call is answered. */
  async stop(): Promise<OutdatedReads> {
    const [outdated] = await Promise.all([
      this.readers.outdated.stop(),
      ...this.readers.clients.map((client) => client.stop()),
    ]);
    return outdated;
  }
}
