/** An export that is known to hold: replayed from its genesis by the verifier, which shares no code with the service. */
import type { BeginImportRequest } from '../../coordinator/contract/backup.js';
import { showProgress } from '../terminal/progress.js';
import { eventsText, instant } from '../verifier/command/print.js';
import { checkExport } from '../verifier/exportClaims.js';
import { type Refusal, verifyLog } from '../verifier/log.js';
import type { ExportFile } from '../verifier/source/export.js';
import type { ExportHeader, ExportTrailer } from './exportFormat.js';

/** As `checkedExport`, with its progress for a person. Closes the file. */
export async function shownCheck(file: ExportFile): Promise<BeginImportRequest> {
  const progress = showProgress('verify', file.sizeBytes, 'bytes');
  try {
    let frameBytes = 0;
    const checked = await checkedExport(file, (bytes) => {
      frameBytes += bytes;
      progress.advance(bytes);
    });
    // What stands around the frames.
    progress.advance(file.sizeBytes - frameBytes);
    progress.finish();
    return checked;
  } catch (error) {
    progress.abandon();
    throw error;
  } finally {
    await file.close();
  }
}

/** What an import announces. Throws an Error of one line, which says where, unless every byte of the file is accounted for. */
export async function checkedExport(
  file: ExportFile,
  onProgress: (bytes: number) => void,
): Promise<BeginImportRequest> {
  const { refusal, ...report } = await verifyLog(file, { onProgress });
  if (refusal !== undefined) throw new Error(refusalText(refusal));
  const [problem] = checkExport(file, { refusal, ...report }).problems;
  if (problem !== undefined) throw new Error(`${file.trailerPlace.name}: ${problem}`);
  // As the check has found them.
  const { origin, dimension, metric, created_at_ms, index } = file.header as unknown as ExportHeader;
  const { sequence, chain_head, state_hash } = file.trailer as unknown as ExportTrailer;
  return { origin, dimension, metric, created_at_ms, ...(index && { index }), sequence, chain_head, state_hash };
}

function refusalText(refusal: Refusal): string {
  const { what, place, timeMs } = refusal;
  const dated = timeMs === undefined ? '' : `, of ${instant(timeMs)}`;
  return `${place.name}, byte ${place.byte}, ${eventsText(refusal)}${dated}: ${what}`;
}
