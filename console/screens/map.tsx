/** A sample of the records in the plane of the largest variance, coloured by a metadata key. */
import { useMemo, useState } from 'preact/hooks';
import type { ListedCollection } from '../../coordinator/contract/collections.js';
import type { EventLogProofResponse } from '../../coordinator/contract/proofs.js';
import { useLoaded } from '../loading.js';
import { keysOf, legendOf } from '../map/colours.js';
import { type MappedRecords, sampled } from '../map/sample.js';
import { Scatter } from '../map/scatter.js';
import { Field, Shown } from '../parts/basics.js';
import { counted, shortened } from '../parts/values.js';
import { go } from '../place.js';
import { pathOf, type Service } from '../service.js';

interface Props {
  readonly service: Service;
  readonly collection: ListedCollection;
  /** The hits of the last search in this collection. */
  readonly lit: readonly number[];
}

export function RecordMap({ service, collection, lit }: Props) {
  const mapped = useLoaded(
    (signal) => {
      const lastId = async (): Promise<number> => {
        // Each record was inserted by an event, so no id exceeds the number of events.
        const path = pathOf('/v1/proof/event-log', { collection: collection.name });
        return (await service.call<EventLogProofResponse>('GET', path, undefined, signal)).event_count;
      };
      return sampled({ service, collection, signal }, lastId, lit);
    },
    [service, collection.id, lit],
  );
  return (
    <Shown of={mapped}>
      {(value) =>
        value.records.length === 0 ? (
          <p class="quiet">This collection has no record yet.</p>
        ) : (
          <Mapped {...value} collection={collection} lit={lit} />
        )
      }
    </Shown>
  );
}

const TEXT_CHARS = 100;

function Mapped({ records, plane, collection: { name }, lit }: MappedRecords & Omit<Props, 'service'>) {
  const [key, setKey] = useState('');
  const keys = useMemo(() => keysOf(records), [records]);
  const legend = useMemo(() => legendOf(records, key), [records, key]);
  const colours = useMemo(() => records.map(legend.colourOf), [records, legend]);
  const isHit = useMemo(() => new Set(lit), [lit]);
  const describe = (point: number): string => {
    const { id, text, metadata } = records[point]!;
    return `Record ${id}: ${shortened(text ?? JSON.stringify(metadata), TEXT_CHARS)}`;
  };
  return (
    <>
      <div class="row">
        <Field label="Colour by metadata key">
          <select value={key} onChange={(event) => setKey(event.currentTarget.value)}>
            <option value="">one colour</option>
            {keys.map((known) => (
              <option key={known}>{known}</option>
            ))}
          </select>
        </Field>
        <ul class="legend" aria-label="Colours">
          {[...legend.colours].map(([value, colour]) => (
            <li key={value}>
              <svg width="10" height="10" aria-hidden="true">
                <circle cx="5" cy="5" r="5" fill={colour} />
              </svg>{' '}
              {shortened(value, 24)}
            </li>
          ))}
        </ul>
      </div>
      <p class="quiet">
        {counted(records.length, 'record')}, one point each. Points that are near each other have similar vectors. The
        map keeps {Math.round(plane.share * 100)} % of the differences between the vectors.
        {lit.length > 0 && ' Circles mark the hits of the last search.'}
      </p>
      <Scatter
        label={`Map of ${counted(records.length, 'record')}`}
        plane={plane}
        colours={colours}
        isLit={(point) => isHit.has(records[point]!.id)}
        describe={describe}
        onOpen={(point) => go({ screen: 'records', collection: name, record: records[point]!.id })}
      />
    </>
  );
}
