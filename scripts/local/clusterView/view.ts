/**
 * The live view as lines of text: a pure function of a snapshot and the size of the screen. Its lines fit into 80 columns. With too
 * few rows, the oldest news are omitted first, then moves, then shards.
 */

import { counted, grouped } from '../../terminal/line.js';
import { type Column, tableLines } from '../../terminal/table.js';
import { curlLine } from '../supervisor/welcome.js';
import type { ClusterSnapshot, CoordinatorState, ServerState, ShardState } from './snapshot.js';
import type { NewsItem } from './watch/news.js';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** The style of a line. */
export type Tone = 'title' | 'plain' | 'good' | 'bad' | 'quiet';

export interface ViewLine {
  readonly text: string;
  readonly tone: Tone;
}

const MOVES_MAX = 4;
const NEWS_MIN = 3;
const SHARDS_MIN = 2;

type ViewColumn<State> = Column & { readonly cell: (state: State) => string };
const left = <State>(title: string, chars: number, cell: (state: State) => string): ViewColumn<State> => ({
  ...{ title, chars, toRight: false, cell },
});
const right = <State>(title: string, chars: number, cell: (state: State) => string): ViewColumn<State> => ({
  ...{ title, chars, toRight: true, cell },
});

type Pid = ShardState['pid'];
interface Process {
  readonly name: string;
  readonly pid: Pid;
}
const isDown = ({ pid }: Process): boolean => pid === undefined;
const nameText = ({ name }: Process): string => name;
const pidText = ({ pid }: Process): string =>
  pid === undefined ? 'down' : pid === 'elsewhere' ? 'other' : String(pid);

const SERVER_COLUMNS: readonly ViewColumn<ServerState>[] = [
  left('NATS', 6, nameText),
  right('pid', 7, pidText),
  right('stored', 8, ({ storedBytes }) => size(storedBytes)),
  left(' leads', 40, ({ leadsMeta, logsLed, othersLed }) => {
    const others = `${othersLed} other stream${othersLed === 1 ? '' : 's'}`;
    return listText([leadsMeta && 'meta', logsLed.length > 0 && `logs ${logsLed.join(' ')}`, othersLed > 0 && others]);
  }),
];
const COORDINATOR_COLUMNS: readonly ViewColumn<CoordinatorState>[] = [
  left('COORD.', 6, nameText),
  right('pid', 7, pidText),
  right('requests/s', 10, ({ requestsPerSecond }) => rate(requestsPerSecond)),
  right('p50 ms', 6, ({ p50Ms }) => millis(p50Ms)),
  right('p99 ms', 6, ({ p99Ms }) => millis(p99Ms)),
  right('503/s', 5, ({ refusedPerSecond }) => rate(refusedPerSecond)),
  right('in flight', 9, ({ inFlight }) => count(inFlight)),
  left(' leads', 17, (state) => listText([state.leadsPlacement && 'placement', state.countsRequests && 'limits'])),
];
const SHARD_COLUMNS: readonly ViewColumn<ShardState>[] = [
  left('SHARD', 6, nameText),
  right('pid', 7, pidText),
  right('owns', 5, ({ owned }) => count(owned)),
  right('open', 5, ({ open }) => count(open)),
  right('follows', 7, ({ followed }) => count(followed)),
  right('records', 9, ({ records }) => count(records)),
  right('commits/s', 9, ({ commitsPerSecond }) => rate(commitsPerSecond)),
  right('search/s', 8, ({ searchesPerSecond }) => rate(searchesPerSecond)),
  right('memory', 7, ({ memoryBytes }) => size(memoryBytes)),
  right('lease', 7, leaseText),
];

const listText = (items: readonly (string | false)[]): string => ` ${items.filter(Boolean).join(', ')}`;

export function viewLines(snapshot: ClusterSnapshot, { columns, rows }: ScreenSize): ViewLine[] {
  const { servers, coordinators, shards, moves, news } = snapshot;
  const fixed = [
    ...headLines(snapshot, columns),
    ...section(SERVER_COLUMNS, servers),
    ...section(COORDINATOR_COLUMNS, coordinators),
  ];
  // Each of the next three sections has a blank line and a title.
  const movesRows = moves.length === 0 ? 0 : 2 + Math.min(moves.length, MOVES_MAX);
  const shardRows = rows - fixed.length - 2 - movesRows - (2 + NEWS_MIN);
  const shown = shards.length <= shardRows ? shards : shards.slice(0, Math.max(SHARDS_MIN, shardRows - 1));
  const body = [
    ...fixed,
    ...section(SHARD_COLUMNS, shown),
    ...(shown.length === shards.length
      ? []
      : [line('quiet', `… and ${counted(shards.length - shown.length, 'more shard')}`)]),
    ...moveLines(moves),
  ];
  const newsRows = rows - body.length - 2;
  const all = newsRows > 0 ? [...body, BLANK, line('title', 'EVENTS'), ...newsLines(news, newsRows)] : body;
  return all.slice(0, rows).map(({ text, tone }) => ({ text: clipped(text, columns), tone }));
}

/** The cluster in one line, for an output that is not a terminal. */
export function summaryOf({ servers, coordinators, shards, moves }: ClusterSnapshot): string {
  const up = (parts: readonly Process[]): string => `${parts.filter((part) => !isDown(part)).length}/${parts.length}`;
  const known = (values: readonly (number | undefined)[]): number[] => values.flatMap((value) => value ?? []);
  const sum = (values: readonly (number | undefined)[]): number | undefined =>
    known(values).length === 0 ? undefined : known(values).reduce((total, value) => total + value, 0);
  const p99sMs = known(coordinators.map(({ p99Ms }) => p99Ms));
  const leader = coordinators.find(({ leadsPlacement }) => leadsPlacement)?.name ?? 'no coordinator';
  return [
    `up: nats ${up(servers)}, coordinators ${up(coordinators)} (${leader} leads), shards ${up(shards)}`,
    `${things(sum(shards.map(({ owned }) => owned)), 'collection')}, ${things(sum(shards.map(({ records }) => records)), 'record')}`,
    `${rate(sum(coordinators.map(({ requestsPerSecond }) => requestsPerSecond)))} requests/s`,
    `p99 ${millis(p99sMs.length === 0 ? undefined : Math.max(...p99sMs))} ms`,
    `${rate(sum(coordinators.map(({ refusedPerSecond }) => refusedPerSecond)))} refused/s`,
    ...(moves.length > 0 ? [counted(moves.length, 'move')] : []),
  ].join('; ');
}

const BLANK: ViewLine = { text: '', tone: 'plain' };
const line = (tone: Tone, text: string): ViewLine => ({ tone, text });

function headLines({ url, keyFile, upMs }: ClusterSnapshot, columns: number): ViewLine[] {
  // The command below shows the address of the service.
  const name = `Vouch  ${url}/console`;
  const help = `up ${upTime(upMs)}   q or Ctrl-C ends`;
  const head = line('title', `${name}${' '.repeat(Math.max(2, columns - name.length - help.length))}${help}`);
  if (keyFile === undefined) return [head];
  // Two lines that form one command of a shell.
  const [called, header] = curlLine(url, keyFile);
  return [head, line('quiet', `try    ${called} \\`), line('quiet', `         ${header}`)];
}

function section<State extends Process>(columns: readonly ViewColumn<State>[], states: readonly State[]): ViewLine[] {
  if (states.length === 0) return [];
  const rows = states.map((state) => columns.map(({ cell }) => cell(state)));
  const [titles, ...lines] = tableLines(columns, rows, ' ');
  return [BLANK, line('title', titles!), ...lines.map((text, i) => line(isDown(states[i]!) ? 'bad' : 'plain', text))];
}

function leaseText({ lease }: ShardState): string {
  switch (lease.kind) {
    case 'valid':
      return `${(lease.leftMs / 1000).toFixed(1)} s`;
    case 'leaving':
      return 'leaving';
    case 'none':
      return 'over';
  }
}

function moveLines(moves: ClusterSnapshot['moves']): ViewLine[] {
  if (moves.length === 0) return [];
  const more = moves.length > MOVES_MAX ? `, of which ${MOVES_MAX} are shown` : '';
  return [
    BLANK,
    line('title', `MOVES UNDER WAY  ${moves.length}${more}`),
    ...moves
      .slice(0, MOVES_MAX)
      .map(({ collectionId, name, from, to, sinceMs }) =>
        line('plain', `${name} (${collectionId})  ${from} → ${to}  ${(sinceMs / 1000).toFixed(1)} s`),
      ),
  ];
}

const TONES = { done: 'good', failed: 'bad', warning: 'bad', plain: 'plain' } as const;

/** The last news, at most a third of them complaints if there are enough events: failing processes may log a lot. */
function newsLines(news: readonly NewsItem[], most: number): ViewLine[] {
  const complaints = news.filter(({ isComplaint }) => isComplaint);
  const events = news.filter(({ isComplaint }) => !isComplaint);
  const complaintRows = Math.min(complaints.length, Math.max(Math.ceil(most / 3), most - events.length));
  const shown = new Set([...last(complaints, complaintRows), ...last(events, most - complaintRows)]);
  return news
    .filter((item) => shown.has(item))
    .map(({ atMs, sign, text }) => line(TONES[sign], `${timeOfDay(atMs)}  ${text}`));
}

const last = <T>(items: readonly T[], count: number): readonly T[] => items.slice(Math.max(0, items.length - count));

const clipped = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;

/** The text of an unknown value. */
const UNKNOWN = '·';

const formatted =
  (format: (value: number) => string) =>
  (value: number | undefined): string =>
    value === undefined ? UNKNOWN : format(value);

/** One decimal below ten. */
const short = (value: number): string => (value < 9.95 ? value.toFixed(1) : grouped(Math.round(value)));

const count = formatted(grouped);
const things = (value: number | undefined, one: string): string =>
  value === undefined ? `${UNKNOWN} ${one}s` : counted(value, one);
const millis = formatted(short);
/** Per second. */
const rate = formatted((value) => (value > 0 ? short(value) : grouped(Math.round(value))));

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/** 12345678 → `12 MB` */
const size = formatted((bytes) => {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit > 0 ? short(value) : Math.round(value)} ${UNITS[unit]}`;
});

/** 3723000 → `1 h 02 m` */
const upTime = (ms: number): string => {
  const s = Math.floor(ms / 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${two(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} m`;
};

/** `18:40:01`, in this machine's time zone. */
const timeOfDay = (atMs: number): string => new Date(atMs).toTimeString().slice(0, 8);
