/** What `npm run cluster` shows while it serves: the view on a terminal, elsewhere events and a line now and then. */
import type { Config } from '../../config/config.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors.js';
import type { Part } from '../supervisor/clusterPlans.js';
import type { Tell } from '../supervisor/fleet.js';
import type { Show } from '../supervisor/service.js';
import { shownKeyFile, type Welcome } from '../supervisor/welcome.js';
import { say } from '../terminal/line.js';
import { listenForQuit } from './keyboard.js';
import { Screen } from './screen.js';
import type { ClusterSnapshot } from './snapshot.js';
import { summaryOf } from './summary.js';
import { viewLines } from './view.js';
import { ClusterWatch, type Watched } from './watch/clusterWatch.js';
import { News } from './watch/news.js';

const FRAME_MS = 500;
const SUMMARY_MS = 5_000;

export interface ShowOptions {
  readonly watched: Watched;
  /** What the cluster runs with. */
  readonly config: Config;
  readonly clock: Clock;
  /** False: lines. */
  readonly drawsView: boolean;
}

export class ClusterShow implements Show {
  readonly #options: ShowOptions;
  readonly #news: News;
  readonly #screen: Screen;
  #watch: ClusterWatch | undefined;
  #up: Pick<ClusterSnapshot, 'url' | 'keyFile'> | undefined;
  #beganMs = 0;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;
  #forgetKeyboard: () => void = () => {};

  constructor(options: ShowOptions) {
    this.#options = options;
    this.#news = new News(options.clock, ({ mark, text }) => {
      if (this.#isDrawing) this.#draw();
      else say(mark, 'event', text);
    });
    this.#screen = new Screen(process.stdout, !process.env.NO_COLOR, () => this.#draw());
  }

  /** What the cluster's processes do is news while something is shown, and printed before and after. */
  readonly tell: Tell = (mark, name, text, isComplaint) => {
    if (this.#watch === undefined) say(mark, name, text);
    else this.#news.add(mark, `${name} ${text}`, isComplaint);
  };

  async begin({ url, dataDir }: Welcome): Promise<void> {
    const { watched, config, clock, drawsView } = this.#options;
    this.#up = { url, keyFile: await shownKeyFile(dataDir) };
    this.#beganMs = clock.monotonicMs();
    const watch = await ClusterWatch.open(watched, config, this.#news, clock);
    if (this.#isOver) return watch.close();
    this.#watch = watch;
    this.#tellProcesses(watched);
    if (drawsView) this.#openView();
    else this.#timer = setInterval(() => say('plain', 'cluster', summaryOf(this.#snapshot())), SUMMARY_MS);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#forgetKeyboard();
    this.#screen.close();
    const watch = this.#watch;
    this.#watch = undefined;
    // The cluster is about to go: what fails now fails because of that.
    watch?.close().catch((error: unknown) => say('warning', 'view', messageOf(error)));
  }

  get #isDrawing(): boolean {
    return this.#options.drawsView && this.#watch !== undefined;
  }

  /** So that a person can end one, and read another's metrics. */
  #tellProcesses({ layout, processIds }: Watched): void {
    const pids = (parts: readonly Part[]): string =>
      parts.map(({ name, process }) => `${name} ${processIds[process] ?? 'down'}`).join(', ');
    say('plain', 'process ids', `${pids(layout.servers)}; ${pids(layout.coordinators)}; ${pids(layout.shards)}`);
    for (const { name, url } of layout.coordinators) say('plain', 'metrics', `${name} ${url}`);
    for (const { name, url } of layout.servers) say('plain', 'NATS pages', `${name} ${url}`);
  }

  #openView(): void {
    this.#screen.open();
    if (process.stdin.isTTY)
      this.#forgetKeyboard = listenForQuit(process.stdin, () => process.kill(process.pid, 'SIGINT'));
    this.#timer = setInterval(() => this.#draw(), FRAME_MS);
    this.#draw();
  }

  #draw(): void {
    if (this.#isDrawing) this.#screen.draw(viewLines(this.#snapshot(), this.#screen.room));
  }

  #snapshot(): ClusterSnapshot {
    const upMs = this.#options.clock.monotonicMs() - this.#beganMs;
    return { ...this.#up!, upMs, ...this.#watch!.snapshot() };
  }
}
