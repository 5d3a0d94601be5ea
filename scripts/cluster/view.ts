/**
 * The live view as lines of text: a pure function of a snapshot and of the room there is. Everything fits into 80 columns;
 * where there are too few rows the oldest news go first, then moves, then shards.
 */
import { curlLine } from '../supervisor/welcome.js';
import { count, duration, millis, rate, size, timeOfDay } from './figures.js';
import type { ClusterSnapshot, CoordinatorState, Move, NewsItem, ServerState, ShardState } from './snapshot.js';
import { columnLines, type ViewColumn } from './table.js';

export interface Room {
  readonly columns: number;
  readonly rows: number;
}

/** How a line is to stand out. */
export type Tone = 'title' | 'plain' | 'good' | 'bad' | 'quiet';

export interface ViewLine {
  readonly text: string;
  readonly tone: Tone;
}

const MOVES_MAX = 4;
const NEWS_MIN = 3;
const SHARDS_MIN = 2;

const SERVER_COLUMNS: readonly ViewColumn[] = [
  { title: 'NATS', chars: 6 },
  { title: 'pid', chars: 7, toRight: true },
  { title: 'stored', chars: 8, toRight: true },
  { title: ' leads', chars: 40 },
];

const COORDINATOR_COLUMNS: readonly ViewColumn[] = [
  { title: 'COORD.', chars: 6 },
  { title: 'pid', chars: 7, toRight: true },
  { title: 'requests/s', chars: 10, toRight: true },
  { title: 'p50 ms', chars: 6, toRight: true },
  { title: 'p99 ms', chars: 6, toRight: true },
  { title: '503/s', chars: 5, toRight: true },
  { title: 'in flight', chars: 9, toRight: true },
  { title: ' leads', chars: 17 },
];

const SHARD_COLUMNS: readonly ViewColumn[] = [
  { title: 'SHARD', chars: 6 },
  { title: 'pid', chars: 7, toRight: true },
  { title: 'owns', chars: 5, toRight: true },
  { title: 'open', chars: 5, toRight: true },
  { title: 'follows', chars: 7, toRight: true },
  { title: 'records', chars: 9, toRight: true },
  { title: 'commits/s', chars: 9, toRight: true },
  { title: 'search/s', chars: 8, toRight: true },
  { title: 'memory', chars: 7, toRight: true },
  { title: 'lease', chars: 7, toRight: true },
];

export function viewLines(snapshot: ClusterSnapshot, { columns, rows }: Room): ViewLine[] {
  const { servers, coordinators, shards, moves, news } = snapshot;
  const fixed = [
    ...headLines(snapshot, columns),
    ...section(SERVER_COLUMNS, servers.map(serverRow), servers.map(isDown)),
    ...section(COORDINATOR_COLUMNS, coordinators.map(coordinatorRow), coordinators.map(isDown)),
  ];
  // A blank line and a title belong to each of the three that follow.
  const movesRoom = moves.length === 0 ? 0 : 2 + Math.min(moves.length, MOVES_MAX);
  const forShards = rows - fixed.length - 2 - movesRoom - (2 + NEWS_MIN);
  const shown = shards.length <= forShards ? shards : shards.slice(0, Math.max(SHARDS_MIN, forShards - 1));
  const body = [
    ...fixed,
    ...section(SHARD_COLUMNS, shown.map(shardRow), shown.map(isDown)),
    ...(shown.length === shards.length ? [] : [line('quiet', `… and ${shards.length - shown.length} more shards`)]),
    ...moveLines(moves),
  ];
  const forNews = rows - body.length - 2;
  const all = [...body, ...(forNews > 0 ? [BLANK, line('title', 'EVENTS'), ...newsLines(news, forNews)] : [])];
  return all.slice(0, rows).map(({ text, tone }) => ({ text: clipped(text, columns), tone }));
}

const BLANK: ViewLine = { text: '', tone: 'plain' };
const line = (tone: Tone, text: string): ViewLine => ({ tone, text });
type Pid = ShardState['pid'];
const isDown = ({ pid }: { readonly pid: Pid }): boolean => pid === undefined;

function headLines({ url, keyFile, upMs }: ClusterSnapshot, columns: number): ViewLine[] {
  const left = `Vouch  ${url}`;
  const right = `up ${duration(upMs)}   q or Ctrl-C ends`;
  const head = line('title', `${left}${' '.repeat(Math.max(2, columns - left.length - right.length))}${right}`);
  if (keyFile === undefined) return [head];
  // Two lines that a shell takes as one command.
  const [called, header] = curlLine(url, keyFile);
  return [head, line('quiet', `try    ${called} \\`), line('quiet', `         ${header}`)];
}

function section(columns: readonly ViewColumn[], rows: readonly string[][], down: readonly boolean[]): ViewLine[] {
  if (rows.length === 0) return [];
  const [titles, ...lines] = columnLines(columns, rows);
  return [BLANK, line('title', titles!), ...lines.map((text, i) => line(down[i] ? 'bad' : 'plain', text))];
}

const pidText = (pid: Pid): string => {
  if (pid === undefined) return 'down';
  return pid === 'elsewhere' ? 'other' : String(pid);
};

function serverRow({ name, pid, leadsMeta, logsLed, othersLed, storedBytes }: ServerState): string[] {
  const leads = [
    ...(leadsMeta ? ['meta'] : []),
    ...(logsLed.length > 0 ? [`logs ${logsLed.join(' ')}`] : []),
    ...(othersLed > 0 ? [`${othersLed} other stream${othersLed === 1 ? '' : 's'}`] : []),
  ];
  return [name, pidText(pid), size(storedBytes), ` ${leads.join(', ')}`];
}

function coordinatorRow(state: CoordinatorState): string[] {
  const leads = [...(state.leadsPlacement ? ['placement'] : []), ...(state.countsRequests ? ['limits'] : [])];
  return [
    state.name,
    pidText(state.pid),
    rate(state.requestsPerSecond),
    millis(state.p50Ms),
    millis(state.p99Ms),
    rate(state.refusedPerSecond),
    count(state.inFlight),
    ` ${leads.join(', ')}`,
  ];
}

function shardRow(state: ShardState): string[] {
  return [
    state.name,
    pidText(state.pid),
    count(state.owned),
    count(state.open),
    count(state.followed),
    count(state.records),
    rate(state.commitsPerSecond),
    rate(state.searchesPerSecond),
    size(state.memoryBytes),
    leaseText(state),
  ];
}

function leaseText({ lease }: ShardState): string {
  switch (lease.kind) {
    case 'held':
      return `${(lease.leftMs / 1000).toFixed(1)} s`;
    case 'leaving':
      return 'leaving';
    case 'none':
      return 'over';
  }
}

function moveLines(moves: readonly Move[]): ViewLine[] {
  if (moves.length === 0) return [];
  const more = moves.length - MOVES_MAX;
  const shown = moves.slice(0, MOVES_MAX);
  return [
    BLANK,
    line('title', `MOVES UNDER WAY  ${moves.length}${more > 0 ? `, of which ${MOVES_MAX} are shown` : ''}`),
    ...shown.map(({ collectionId, name, from, to, sinceMs }) =>
      line('plain', `${name} (${collectionId})  ${from} → ${to}  ${(sinceMs / 1000).toFixed(1)} s`),
    ),
  ];
}

const TONES = { done: 'good', failed: 'bad', warning: 'bad', plain: 'plain' } as const;

const newsLines = (news: readonly NewsItem[], most: number): ViewLine[] =>
  latest(news, most).map(({ atMs, mark, text }) => line(TONES[mark], `${timeOfDay(atMs)}  ${text}`));

/** In a bad moment processes log so much that what happened would be out of sight: a third is theirs where there is more. */
function latest(news: readonly NewsItem[], most: number): NewsItem[] {
  const complaints = news.filter(({ isComplaint }) => isComplaint);
  const events = news.filter(({ isComplaint }) => !isComplaint);
  const theirs = Math.min(complaints.length, Math.max(Math.ceil(most / 3), most - events.length));
  const shown = new Set([...last(complaints, theirs), ...last(events, most - theirs)]);
  return news.filter((item) => shown.has(item));
}

const last = <T>(items: readonly T[], count: number): readonly T[] => items.slice(Math.max(0, items.length - count));

const clipped = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;
