/** Prints the end of a load: how many rows are in the collection, and how many are not. */
import { basename, relative } from 'node:path';
import type { CountRecordsResponse } from '../../coordinator/contract/records.js';
import type { ServiceClient } from '../service/serviceClient.js';
import { callersFolder } from '../terminal/commandLine.js';
import { counted, grouped, say } from '../terminal/line.js';
import type { Reached } from './progressFile.js';
import type { LoadRequest } from './request.js';
import { checkpointOf } from './target.js';

/** `why`: the fault of the first row, where no row fits. */
export function reportRejected({ rejected, rejects }: Reached, why: string | undefined): void {
  const earlier = rejects?.earlier ?? 0;
  const file = rejects === undefined ? '' : `: ${relative(callersFolder(), rejects.path)} says why`;
  if (rejected > earlier)
    say(
      'warning',
      'rejected',
      `${counted(rejected - earlier, 'row does', 'rows do')} not fit${file}${why === undefined ? '' : `; ${why}`}`,
    );
  if (earlier > 0)
    say(
      'warning',
      'rejected',
      `${counted(earlier, 'row before them does', 'rows before them do')} not fit: the file of an earlier --rejects says why`,
    );
}

/** Prints the number of records, and what became of the rows without a record of their own. */
export async function reportRecords(
  { collection, columns, again }: LoadRequest,
  client: ServiceClient,
  reached: Reached,
  isWhole: boolean,
): Promise<void> {
  const path = `/v1/records/count?collection=${encodeURIComponent(collection)}`;
  const { count } = await client.ask<CountRecordsResponse>('GET', path);
  const { inserted, replaced } = reached;
  const found = `${collection}: ${counted(count, 'record is', 'records are')} in it`;
  const recognised = columns.id === undefined && !again ? await recognisedRows(collection, client, reached) : 0;
  if (recognised > 0)
    say(
      'warning',
      'collection',
      `${found}; ${grouped(recognised)} of ${counted(inserted, 'row')} had been loaded before, and no such row is inserted again, ` +
        'even if its record was deleted since: without a progress file --again inserts all',
    );
  else if (count < inserted - replaced)
    say(
      'warning',
      'collection',
      `${found}, fewer than the ${counted(inserted - replaced, 'new one')}: some were deleted meanwhile`,
    );
  else
    say(
      isWhole ? 'done' : 'plain',
      'collection',
      replaced === 0
        ? found
        : `${found}; ${grouped(replaced)} of ${counted(inserted, 'row')} replaced an earlier one of their ${columns.id}`,
    );
}

/** The rows that the service did not insert, since it knew their request ids: each inserted one is an event. */
async function recognisedRows(
  collection: string,
  client: ServiceClient,
  { beganAt, inserted }: Reached,
): Promise<number> {
  if (beganAt === undefined) return 0;
  const { log } = await checkpointOf(client, collection);
  return Math.max(0, inserted - (log.size - beganAt));
}

/** Prints that the progress file ends at the last row of the source. */
export function reportNothingNew({ columns, progress }: LoadRequest): void {
  const again =
    columns.id === undefined ? 'without it and with --again all are inserted again' : 'without it all are loaded again';
  say('plain', 'collection', `there were no new rows after those in ${basename(progress!)}; ${again}`);
}
