/** Checks the history of a collection in this browser: it must continue the history seen before, and each event is proven. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { SigningKeysResponse, TimelineEvent, TimelineResponse } from '../../coordinator/contract/proofs.js';
import type { Checkpoint } from '../../verifier/index.js';
import { By } from '../audit/by.js';
import { Certificate } from '../audit/certificate.js';
import { Change } from '../audit/change.js';
import { type Checked, EventChecks } from '../audit/eventChecks.js';
import { type ComparedHistory, compareWithPinned, pin } from '../audit/pinnedCheckpoint.js';
import { shreddedKeys } from '../audit/shredded.js';
import { type Loaded, useLoaded } from '../loading.js';
import { Field, onSubmit, Problem, Shown } from '../parts/basics.js';
import { Table } from '../parts/table.js';
import { counted, grouped, Hash, Time } from '../parts/values.js';
import { pathOf, type Service } from '../service.js';
import { LogCheck } from './logCheck.js';
import { Readers } from './readers.js';

interface Props {
  readonly service: Service;
  readonly collection: string;
}

const PAGE_EVENTS = 50;

export function Audit({ service, collection }: Props) {
  const history = useLoaded((signal) => compareWithPinned(service, collection, signal), [service, collection]);
  return (
    <>
      <History of={history} />
      <Shown of={history}>
        {({ checkpoint }) => (
          <>
            <Signed checkpoint={checkpoint} service={service} />
            <LogCheck />
            <Timeline service={service} collection={collection} checkpoint={checkpoint} />
            <Readers service={service} collection={collection} />
          </>
        )}
      </Shown>
    </>
  );
}

const eventsOf = ({ size }: Checkpoint): bigint => (size === 0n ? 0n : size - 1n);

function History({ of: history }: { readonly of: Loaded<ComparedHistory> }) {
  if (history.value === undefined) return null;
  const { checkpoint, last, alarm, isKeyNew } = history.value;
  if (alarm !== undefined)
    return (
      <div class="alarm" role="alert">
        <strong>The history contradicts the one that this browser saw before.</strong>
        <p>{alarm}</p>
        <p>
          Seen on <Time ms={last!.atMs} />: a log of {counted(Number(last!.size) - 1, 'event')} with the root{' '}
          <Hash value={last!.root} />.
        </p>
        <button
          type="button"
          class="plain"
          onClick={() => {
            pin(checkpoint);
            history.reload();
          }}
        >
          Trust the present log from now on
        </button>
      </div>
    );
  return (
    <p role="status" class="good">
      {last === undefined ? (
        'This is the first visit with this browser. It remembers the present log: later visits check that nothing in it was changed.'
      ) : (
        <>
          The history is unchanged since your last visit (<Time ms={last.atMs} />
          ): {counted(Number(checkpoint.size - BigInt(last.size)), 'new event')}.
        </>
      )}
      {isKeyNew &&
        ' The log is now signed with another key. Compare the public key below with the key that the service prints when it starts.'}
    </p>
  );
}

function Signed({ service, checkpoint }: { readonly service: Service; readonly checkpoint: Checkpoint }) {
  const keys = useLoaded(
    (signal) => service.call<SigningKeysResponse>('GET', '/v1/proof/keys', undefined, signal),
    [service],
  );
  const isListed = keys.value?.keys.some(({ public_key: key }) => key === checkpoint.publicKey);
  return (
    <dl class="facts">
      <dt>Events</dt>
      <dd>{grouped(Number(eventsOf(checkpoint)))}</dd>
      <dt>Signed on</dt>
      <dd>
        <Time ms={Number(checkpoint.timeMs)} /> <span class="badge good">signature is valid</span>
        {isListed === false && <span class="badge bad">the service does not list this key</span>}
      </dd>
      <dt>Public key of the signature</dt>
      <dd>
        <code class="broken">{checkpoint.publicKey}</code>
      </dd>
      <dt>Root hash of all events</dt>
      <dd>
        <Hash value={checkpoint.root} />
      </dd>
      <dt>Head of the hash chain</dt>
      <dd>
        <Hash value={checkpoint.chainHead} />
      </dd>
      <dt>Hash of the whole state</dt>
      <dd>
        <Hash value={checkpoint.stateHash} />
      </dd>
    </dl>
  );
}

interface TimelineProps extends Props {
  readonly checkpoint: Checkpoint;
}

/** The events, with checks of each, of one actor if a name is typed. */
function Timeline(props: TimelineProps) {
  const { service, collection, checkpoint } = props;
  const [typed, setTyped] = useState('');
  const [actor, setActor] = useState('');
  const checks = useChecks(service, collection, checkpoint);
  return (
    <>
      <form class="row" onSubmit={onSubmit(() => setActor(typed))}>
        <Field label="Only events by">
          <input
            value={typed}
            placeholder="key id, or a person or system"
            pattern="[\x21-\x7e]{1,128}"
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </Field>
        <button type="submit" class="plain" disabled={typed === actor}>
          Show
        </button>
      </form>
      {actor === '' ? (
        <Latest {...props} checks={checks} />
      ) : (
        <OfActor {...props} checks={checks} actor={actor} key={actor} />
      )}
    </>
  );
}

interface PagesProps extends TimelineProps {
  readonly checks: RunningChecks;
}

/** The events, the latest first. Pages of the service begin with the oldest event. */
function Latest({ service, collection, checkpoint, checks }: PagesProps) {
  const total = Number(eventsOf(checkpoint));
  const [end, setEnd] = useState(total);
  const after = Math.max(0, end - PAGE_EVENTS);
  const path = pathOf('/v1/timeline', { collection, after, limit: Math.max(1, end - after) });
  const page = useLoaded((signal) => service.call<TimelineResponse>('GET', path, undefined, signal), [path]);
  return (
    <Shown of={page}>
      {({ events }) => (
        <Events service={service} collection={collection} checks={checks} page={events} total={total} isLatestFirst>
          <button type="button" class="plain" disabled={end >= total} onClick={() => setEnd(end + PAGE_EVENTS)}>
            Newer events
          </button>
          <button type="button" class="plain" disabled={after === 0} onClick={() => setEnd(after)}>
            Older events
          </button>
        </Events>
      )}
    </Shown>
  );
}

/** The events of one actor in the order of the log: the service finds them from any event on, and not backwards. */
function OfActor({ service, collection, checkpoint, checks, actor }: PagesProps & { readonly actor: string }) {
  const total = Number(eventsOf(checkpoint));
  const [begins, setBegins] = useState<readonly number[]>([0]);
  const path = pathOf('/v1/timeline', { collection, actor, after: begins.at(-1), limit: PAGE_EVENTS });
  const page = useLoaded((signal) => service.call<TimelineResponse>('GET', path, undefined, signal), [path]);
  return (
    <Shown of={page}>
      {({ events, next = total }) => (
        <Events service={service} collection={collection} checks={checks} page={events} total={total}>
          <button
            type="button"
            class="plain"
            disabled={begins.length === 1}
            onClick={() => setBegins(begins.slice(0, -1))}
          >
            Older events
          </button>
          <button type="button" class="plain" disabled={next >= total} onClick={() => setBegins([...begins, next])}>
            Newer events
          </button>
        </Events>
      )}
    </Shown>
  );
}

interface EventsProps extends Props {
  readonly page: readonly TimelineEvent[];
  /** The events of the checkpoint; later ones are not shown. */
  readonly total: number;
  readonly isLatestFirst?: boolean;
  readonly checks: RunningChecks;
  /** The buttons that turn pages. */
  readonly children: ComponentChildren;
}

function Events({ service, collection, page, total, isLatestFirst, checks, children }: EventsProps) {
  const { checked, check } = checks;
  const shredded = useLoaded((signal) => shreddedKeys(service, collection, page, signal), [collection, page]);
  const inOrder = page.filter(({ log_index: index }) => index <= total);
  const events = isLatestFirst === true ? inOrder.reverse() : inOrder;
  return (
    <>
      <p class="row">
        {children}
        <button type="button" disabled={events.length === 0} onClick={() => void check(events)}>
          Verify {events.length === 1 ? 'this event' : `these ${events.length} events`}
        </button>
      </p>
      <Table
        label="Events"
        titles={['Event', 'Time', 'Change', 'By', 'Check']}
        plain={['Time', 'Change', 'By', 'Check']}
        rows={events.map((event) => ({
          key: event.log_index,
          cells: [
            event.log_index,
            <Time ms={Date.parse(event.timestamp_iso)} />,
            <Change event={event} collection={collection} shredded={shredded.value} />,
            <By actor={event.actor} />,
            <>
              <Proof of={checked.get(event.log_index)} onCheck={() => void check([event])} event={event} />
              {event.event_type === 'shred_key' && service.mayWrite && (
                <Certificate service={service} keyId={event.key_id ?? ''} />
              )}
            </>,
          ],
        }))}
      />
    </>
  );
}

interface RunningChecks {
  /** Results of the checks, keyed by the number of the event. */
  readonly checked: ReadonlyMap<number, Checked | 'running'>;
  /** Checks one event after the other. From the latest on `EventChecks` asks for the fewest proofs. */
  readonly check: (events: readonly TimelineEvent[]) => Promise<void>;
}

function useChecks(service: Service, collection: string, checkpoint: Checkpoint): RunningChecks {
  const [checked, setChecked] = useState<RunningChecks['checked']>(new Map());
  const ended = useMemo(() => new AbortController(), []);
  useEffect(() => () => ended.abort(), []);
  const checks = useMemo(
    () => new EventChecks(service, collection, checkpoint, ended.signal),
    [service, collection, checkpoint],
  );
  const checkOne = async (event: TimelineEvent): Promise<void> => {
    const put = (result: Checked | 'running'): void =>
      setChecked((before) => new Map(before).set(event.log_index, result));
    put('running');
    const failed = ({ message }: Error): Checked => ({ receipt: undefined, holds: [], problems: [message] });
    put(await checks.check(event).catch(failed));
  };
  const check = async (events: readonly TimelineEvent[]): Promise<void> => {
    for (const event of events.toSorted((a, b) => b.log_index - a.log_index))
      if (!ended.signal.aborted) await checkOne(event);
  };
  return { checked, check };
}

interface ProofProps {
  readonly event: TimelineEvent;
  readonly of: Checked | 'running' | undefined;
  readonly onCheck: () => void;
}

function Proof({ event, of: checked, onCheck }: ProofProps) {
  if (checked === undefined)
    return (
      <button type="button" class="plain" aria-label={`Verify event ${event.log_index}`} onClick={onCheck}>
        Verify
      </button>
    );
  if (checked === 'running') return <span class="quiet">verifying …</span>;
  const { holds, problems, receipt } = checked;
  return (
    <>
      {problems.map((problem) => (
        <Problem key={problem}>{problem}</Problem>
      ))}
      {problems.length === 0 && <span class="badge good">verified</span>}
      <details>
        <summary>What was checked</summary>
        <ul>
          {holds.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
        {receipt !== undefined && <pre class="wide">{JSON.stringify(receipt, null, 2)}</pre>}
      </details>
    </>
  );
}
