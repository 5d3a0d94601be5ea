/** Shows `npm run cluster` while it serves: a live view on a terminal, elsewhere events and summary lines. */
import type { Config } from '../../../config/config.js';
import { systemClock } from '../../../shared/clock.js';
import { messageOf } from '../../../shared/errors/errors.js';
import { say } from '../../terminal/line.js';
import type { ClusterPart } from '../supervisor/clusterPlans.js';
import type { Report } from '../supervisor/fleet.js';
import type { Show } from '../supervisor/service.js';
import { shownKeyFile, type Welcome } from '../supervisor/welcome.js';
import { Screen } from './screen.js';
import type { ClusterSnapshot } from './snapshot.js';
import { summaryOf, viewLines } from './view.js';
import { ClusterWatch, type Watched } from './watch/clusterWatch.js';
import { News } from './watch/news.js';

const FRAME_MS = 500;
const SUMMARY_MS = 5_000;

export class ClusterShow implements Show {
  readonly #news: News;
  readonly #screen = new Screen(process.stdout, process.stdin, !process.env.NO_COLOR, {
    onResize: () => this.#draw(),
    onQuit: () => process.kill(process.pid, 'SIGINT'),
  });
  #watch: ClusterWatch | undefined;
  #up: Pick<ClusterSnapshot, 'url' | 'keyFile'> | undefined;
  #beganMs = 0;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  /** `drawsView` false: prints lines instead. */
  constructor(
    private readonly watched: Watched,
    private readonly config: Config,
    private readonly drawsView: boolean,
  ) {
    this.#news = new News(systemClock, ({ sign, text }) => {
      if (drawsView) this.#draw();
      else say(sign, 'event', text);
    });
  }

  /** Adds events of processes to the news while the cluster is shown; prints them before and after that. */
  readonly report: Report = (sign, name, text, isComplaint) => {
    if (this.#watch === undefined) say(sign, name, text);
    else this.#news.add(sign, `${name} ${text}`, isComplaint);
  };

  async begin({ url, dataDir }: Welcome): Promise<void> {
    this.#up = { url, keyFile: await shownKeyFile(dataDir) };
    this.#beganMs = systemClock.monotonicMs();
    const watch = await ClusterWatch.open(this.watched, this.config, this.#news);
    if (this.#isOver) return watch.close();
    this.#watch = watch;
    this.#printProcesses(this.watched);
    if (this.drawsView) {
      this.#screen.open();
      this.#timer = setInterval(() => this.#draw(), FRAME_MS);
      this.#draw();
    } else this.#timer = setInterval(() => say('plain', 'cluster', summaryOf(this.#snapshot())), SUMMARY_MS);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#screen.close();
    const watch = this.#watch;
    this.#watch = undefined;
    watch?.close().catch((error: unknown) => say('warning', 'view', messageOf(error)));
  }

  /** Prints process ids and metrics addresses, for people who want to kill a process or read its metrics. */
  #printProcesses({ layout, processIds }: Watched): void {
    const pids = (parts: readonly ClusterPart[]): string =>
      parts.map(({ name, process }) => `${name} ${processIds[process] ?? 'down'}`).join(', ');
    say('plain', 'process ids', `${pids(layout.servers)}; ${pids(layout.coordinators)}; ${pids(layout.shards)}`);
    for (const { name, url } of layout.coordinators) say('plain', 'metrics', `${name} ${url}`);
    for (const { name, url } of layout.servers) say('plain', 'NATS pages', `${name} ${url}`);
  }

  #draw(): void {
    if (this.#watch !== undefined) this.#screen.draw(viewLines(this.#snapshot(), this.#screen.size));
  }

  #snapshot(): ClusterSnapshot {
    const upMs = systemClock.monotonicMs() - this.#beganMs;
    return { ...this.#up!, upMs, ...this.#watch!.snapshot() };
  }
}
