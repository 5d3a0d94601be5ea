/** The history of a collection, checked in this browser: what was seen before still stands, and each event is proven. */
import { useState } from 'preact/hooks';
import type { SigningKeysResponse, TimelineEvent, TimelineResponse } from '../../coordinator/contract/proofs.js';
import type { Checkpoint } from '../../verifier/index.js';
import { type Checked, checkEvent } from '../audit/eventChecks.js';
import { shreddedKeys } from '../audit/shredded.js';
import { remember, type Witnessed, witness } from '../audit/witness.js';
import { type Loaded, useLoaded } from '../loading.js';
import { grouped, Hash, Problem, Shown, Table } from '../parts/basics.js';
import { addressOf } from '../place.js';
import { pathOf, type Service } from '../service.js';
import { LogCheck } from './logCheck.js';

interface Props {
  readonly service: Service;
  readonly collection: string;
}

const PAGE_EVENTS = 50;

export function Audit({ service, collection }: Props) {
  const history = useLoaded((signal) => witness(service, collection, signal), [service, collection]);
  return (
    <>
      <History of={history} />
      <Shown of={history}>
        {({ checkpoint }) => (
          <>
            <Signed checkpoint={checkpoint} service={service} />
            <LogCheck />
            <Timeline service={service} collection={collection} checkpoint={checkpoint} />
          </>
        )}
      </Shown>
    </>
  );
}

const eventsOf = ({ size }: Checkpoint): bigint => (size === 0n ? 0n : size - 1n);

function History({ of: history }: { readonly of: Loaded<Witnessed> }) {
  if (history.value === undefined) return null;
  const { checkpoint, last, alarm, isKeyNew } = history.value;
  if (alarm !== undefined)
    return (
      <div class="alarm" role="alert">
        <strong>The history is not the one that was seen here.</strong>
        <p>{alarm}</p>
        <p>
          Seen {timeOf(last!.atMs)}: {last!.size} events with the genesis, root <Hash value={last!.root} />.
        </p>
        <button
          type="button"
          class="plain"
          onClick={() => {
            remember(checkpoint);
            history.reload();
          }}
        >
          Go on from the present log
        </button>
      </div>
    );
  return (
    <p role="status" class="good">
      {last === undefined
        ? 'This browser sees the collection for the first time, and remembers it from now on.'
        : `${grouped(Number(checkpoint.size - BigInt(last.size)))} events since you were here (${timeOf(last.atMs)}), history unchanged.`}
      {isKeyNew && ' It is signed with another key than then: compare the key with those that the service prints.'}
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
      <dt>Root of the log</dt>
      <dd>
        <Hash value={checkpoint.root} />
      </dd>
      <dt>Chain head</dt>
      <dd>
        <Hash value={checkpoint.chainHead} />
      </dd>
      <dt>State hash</dt>
      <dd>
        <Hash value={checkpoint.stateHash} />
      </dd>
      <dt>Signed</dt>
      <dd>
        {timeOf(Number(checkpoint.timeMs))} <span class="badge good">signature holds</span>
        {isListed === false && <span class="badge bad">not with a key of the service</span>}
      </dd>
      <dt>Public key</dt>
      <dd>
        <code class="broken">{checkpoint.publicKey}</code>
      </dd>
    </dl>
  );
}

const timeOf = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

interface TimelineProps extends Props {
  readonly checkpoint: Checkpoint;
}

/** The latest events first: the pages of the service begin at its oldest. */
function Timeline({ service, collection, checkpoint }: TimelineProps) {
  const total = Number(eventsOf(checkpoint));
  const [end, setEnd] = useState(total);
  const [checked, setChecked] = useState<ReadonlyMap<number, Checked | 'running'>>(new Map());
  const after = Math.max(0, end - PAGE_EVENTS);
  const path = pathOf('/v1/timeline', { collection, after, limit: Math.max(1, end - after) });
  const page = useLoaded((signal) => service.call<TimelineResponse>('GET', path, undefined, signal), [path]);
  const shredded = useLoaded(
    (signal) => shreddedKeys(service, collection, page.value?.events ?? [], signal),
    [collection, page.value],
  );
  const check = async (event: TimelineEvent): Promise<void> => {
    const put = (result: Checked | 'running'): void =>
      setChecked((before) => new Map(before).set(event.log_index, result));
    put('running');
    put(
      await checkEvent(service, collection, event, checkpoint).catch((error: Error) => ({
        receipt: undefined,
        holds: [],
        problems: [error.message],
      })),
    );
  };
  const checkAll = async (events: readonly TimelineEvent[]): Promise<void> => {
    for (const event of events) await check(event);
  };
  return (
    <Shown of={page}>
      {({ events }) => {
        const latestFirst = end === 0 ? [] : [...events].reverse();
        return (
          <>
            <p class="row">
              <button type="button" class="plain" disabled={end >= total} onClick={() => setEnd(end + PAGE_EVENTS)}>
                Later
              </button>
              <button type="button" class="plain" disabled={after === 0} onClick={() => setEnd(after)}>
                Earlier
              </button>
              <button type="button" disabled={latestFirst.length === 0} onClick={() => void checkAll(latestFirst)}>
                Verify these {latestFirst.length} events
              </button>
            </p>
            <Table label="Events" titles={['Event', 'Time', 'What', 'Proof']}>
              {latestFirst.map((event) => (
                <tr key={event.log_index}>
                  <th scope="row">{event.log_index}</th>
                  <td>{event.timestamp_iso}</td>
                  <td>
                    <What event={event} collection={collection} shredded={shredded.value} />
                  </td>
                  <td>
                    <Proof of={checked.get(event.log_index)} onCheck={() => void check(event)} event={event} />
                  </td>
                </tr>
              ))}
            </Table>
          </>
        );
      }}
    </Shown>
  );
}

const WHAT: Readonly<Record<TimelineEvent['event_type'], string>> = {
  insert: 'inserted',
  replace: 'replaced by an upsert',
  insert_encrypted: 'inserted, encrypted',
  soft_delete: 'hidden',
  delete: 'deleted',
  delete_many: 'the deletions of one request end here',
  update_metadata: 'metadata replaced',
  shred_key: 'key destroyed: what it encrypted can never be read again; that it was there stays proven',
  add_node: 'node added',
  delete_node: 'node deleted',
  add_edge: 'edge added',
  delete_edge: 'edge deleted',
};

interface WhatProps {
  readonly event: TimelineEvent;
  readonly collection: string;
  /** Ids of keys that were destroyed; undefined: not known yet. */
  readonly shredded: ReadonlySet<string> | undefined;
}

function What({ event, collection, shredded }: WhatProps) {
  const { event_type: type, record_id: record, node_id: node, edge_id: edge, key_id: key } = event;
  const isShredded = type === 'insert_encrypted' && key !== undefined && shredded?.has(key) === true;
  return (
    <>
      {record !== undefined && <a href={addressOf({ screen: 'records', collection, record })}>record {record}</a>}
      {node !== undefined && `node ${node}`}
      {edge !== undefined && `edge ${edge}`} {WHAT[type]}
      {isShredded && ', shredded'}
      {key !== undefined && (
        <>
          {' '}
          <code title={key}>{key.slice(0, 8)}…</code>
        </>
      )}
    </>
  );
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
  if (checked === 'running') return <span class="quiet">…</span>;
  const { holds, problems, receipt } = checked;
  return (
    <>
      {problems.map((problem) => (
        <Problem key={problem}>{problem}</Problem>
      ))}
      {problems.length === 0 && <span class="badge good">verified</span>}
      <details>
        <summary>what was checked</summary>
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
