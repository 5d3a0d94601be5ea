/** An export as an import announces it: replayed from its genesis by the verifier, which shares no code with the service. */
import type { BeginImportRequest } from '../../coordinator/contract/backup.js';
import { checkExport } from '../verifier/exportClaims.js';
import { verifyLog } from '../verifier/log.js';
import type { ExportFile } from '../verifier/source/export.js';
import type { ExportHeader, ExportTrailer } from './exportFormat.js';

/** Throws an Error of one line, which says where, unless every byte of the file is accounted for. */
export async function checkedExport(
  file: ExportFile,
  onProgress: (bytes: number) => void,
): Promise<BeginImportRequest> {
  const { refusal, ...report } = await verifyLog(file, { onProgress });
  if (refusal !== undefined) {
    const { what, place, firstSequence } = refusal;
    throw new Error(`${place.name}, byte ${place.byte}, event ${firstSequence}: ${what}`);
  }
  const [problem] = checkExport(file, { refusal, ...report }).problems;
  if (problem !== undefined) throw new Error(`${file.trailerPlace.name}: ${problem}`);
  // As the check has found them.
  const { origin, dimension, metric, created_at_ms, index } = file.header as unknown as ExportHeader;
  const { sequence, chain_head, state_hash } = file.trailer as unknown as ExportTrailer;
  return { origin, dimension, metric, created_at_ms, ...(index && { index }), sequence, chain_head, state_hash };
}
