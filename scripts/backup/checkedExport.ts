/** Checks an export: the verifier, which shares no code with the service, replays it from its genesis. */
import type { BeginImportRequest } from '../../coordinator/contract/backup.js';
import { checkExport, type ExportFile, type Refusal, verifyLog } from '../../verifier/index.js';
import { withProgress } from '../terminal/progress.js';
import { eventsText, instant } from '../verify/print.js';
import type { ExportHeader, ExportTrailer } from './exportWriter.js';

/** Checks the export with `checkedExport`, and shows the progress. Closes the file. */
export const shownCheck = (file: ExportFile): Promise<CheckedExport> =>
  withProgress('verify', file.sizeBytes, ['byte', 'bytes'], async (progress) => {
    let frameBytes = 0;
    const checked = await checkedExport(file, (bytes) => {
      frameBytes += bytes;
      progress.advance(bytes);
    });
    // Counts the bytes around the frames.
    progress.advance(file.sizeBytes - frameBytes);
    return checked;
  }).finally(() => file.close());

export interface CheckedExport {
  /** The announcement of an import. */
  readonly announced: BeginImportRequest;
  /** The number of vault keys that open what the log has encrypted. */
  readonly openKeys: number;
}

/** Throws an Error of one line that names the first wrong byte. */
export async function checkedExport(file: ExportFile, onProgress: (bytes: number) => void): Promise<CheckedExport> {
  const { refusal, ...report } = await verifyLog(file, { onProgress });
  if (refusal !== undefined) throw new Error(refusalText(refusal));
  const [problem] = checkExport(file, { refusal, ...report }).problems;
  if (problem !== undefined) throw new Error(`${file.trailerPlace.name}: ${problem}`);
  // `checkExport` has checked their shapes.
  const header = file.header as unknown as ExportHeader;
  const { origin, dimension, metric, normalise, text, created_at_ms, created_by, index, ttl_secs, erasable } = header;
  const { sequence, chain_head, state_hash } = file.trailer as unknown as ExportTrailer;
  const announced = {
    ...{ origin, dimension, metric },
    ...(normalise && { normalise }),
    ...(text && { text }),
    ...(ttl_secs && { ttl_secs }),
    ...(erasable && { erasable }),
    ...{ created_at_ms, ...(created_by && { created_by }), ...(index && { index }), sequence, chain_head, state_hash },
  };
  return { announced, openKeys: report.records.openKeys.length };
}

function refusalText(refusal: Refusal): string {
  const { what, place, timeMs } = refusal;
  const dated = timeMs === undefined ? '' : `, of ${instant(timeMs)}`;
  return `${place.name}, byte ${place.byte}, ${eventsText(refusal)}${dated}: ${what}`;
}
