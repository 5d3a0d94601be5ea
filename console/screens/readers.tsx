/** Who has read a collection: the entries of its access log, the latest first. Only a key of scope `admin` sees them. */
import { useState } from 'preact/hooks';
import type { AccessEntry, AccessResponse } from '../../coordinator/contract/access.js';
import type { ListedCollection } from '../../coordinator/contract/collections.js';
import { By } from '../audit/by.js';
import { useLoaded } from '../loading.js';
import { Shown } from '../parts/basics.js';
import { Table } from '../parts/table.js';
import { counted, Time } from '../parts/values.js';
import { pathOf, type Service } from '../service.js';

interface Props {
  readonly service: Service;
  readonly collection: string;
}

const PAGE_ENTRIES = 25;

/** Shows the reads, or nothing where reads are not audited and no entry is left from before. */
export function Readers({ service, collection }: Props) {
  const path = `/v1/namespaces/${encodeURIComponent(collection)}`;
  const found = useLoaded(
    async (signal) => {
      const info = await service.call<ListedCollection>('GET', path, undefined, signal);
      const isAudited = info.audit_reads !== undefined;
      const isShown = isAudited || (service.isAdmin && (await pageOf({ service, collection }, 0, 1, signal)).size > 0);
      return { ...info, isAudited, isShown };
    },
    [path],
  );
  if (!found.value?.isShown) return null;
  const { isAudited, audit_reads: audit, access_retention_days: days } = found.value;
  return (
    <>
      <h2>Reads</h2>
      <p>
        {isAudited
          ? `Every read of this collection is an entry of its access log${audit === 'full' ? ', with its request' : ''}.`
          : 'The access log is switched off. It has the reads from before.'}
        {days !== undefined && ` Entries are kept for ${counted(days, 'day')}.`}
        {!service.isAdmin && ' A key with the scope admin sees them.'}
      </p>
      {service.isAdmin && <Entries service={service} collection={collection} />}
    </>
  );
}

const pageOf = (
  { service, collection }: Props,
  after: number,
  limit: number,
  signal: AbortSignal,
): Promise<AccessResponse> =>
  service.call('GET', pathOf('/v1/access', { collection, after, limit }), undefined, signal);

function Entries({ service, collection }: Props) {
  const ask = (after: number, limit: number, signal: AbortSignal) =>
    pageOf({ service, collection }, after, limit, signal);
  const [older, setOlder] = useState(0);
  const page = useLoaded(
    async (signal) => {
      const { size, removed } = await ask(0, 1, signal);
      const first = removed?.entries ?? 0;
      const end = Math.max(first, size - older);
      const after = Math.max(first, end - PAGE_ENTRIES);
      const entries = await entriesUpTo(end, after, (next) => ask(next, end - next, signal));
      return { entries: entries.reverse(), size, first, after };
    },
    [collection, older],
  );
  return (
    <Shown of={page}>
      {({ entries, size, first, after }) => (
        <>
          <p class="row">
            {counted(size, 'read')}
            {first > 0 && `, of which the first ${first} were removed`}
            <button type="button" class="plain" disabled={older === 0} onClick={() => setOlder(older - PAGE_ENTRIES)}>
              Newer reads
            </button>
            <button
              type="button"
              class="plain"
              disabled={after === first}
              onClick={() => setOlder(older + PAGE_ENTRIES)}
            >
              Older reads
            </button>
          </p>
          <Table
            label="Reads"
            titles={['Read', 'Time', 'Request', 'Records', 'By']}
            plain={['Time', 'Request', 'By']}
            rows={entries.map((entry) => ({
              key: entry.entry,
              cells: [
                entry.entry,
                <Time ms={Date.parse(entry.time)} />,
                <Asked entry={entry} />,
                entry.ids?.join(', ') ?? entry.records ?? '',
                <By actor={entry.actor} />,
              ],
            }))}
          />
        </>
      )}
    </Shown>
  );
}

/** The entries after `after` up to `end`. A page with long requests has fewer entries than asked for. */
async function entriesUpTo(
  end: number,
  after: number,
  ask: (after: number) => Promise<AccessResponse>,
): Promise<AccessEntry[]> {
  const entries: AccessEntry[] = [];
  for (let last: number | undefined = after; last !== undefined && last < end; ) {
    const page = await ask(last);
    entries.push(...page.entries);
    last = page.next;
  }
  return entries;
}

function Asked({ entry: { kind, status, request, body } }: { readonly entry: AccessEntry }) {
  const isAnswered = status < 300;
  return (
    <>
      <code>{request ?? kind}</code> {!isAnswered && <span class="badge bad">{status}</span>}
      {body !== undefined && (
        <details>
          <summary>Body</summary>
          <pre class="wide">{body}</pre>
        </details>
      )}
    </>
  );
}
