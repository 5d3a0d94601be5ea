/** Export files: the verifier takes none but the one that was written. */
import { checkExport } from '../../../verifier/exportClaims.js';
import { ExportFile } from '../../../verifier/exportFile.js';
import { verifyLog } from '../../../verifier/log.js';
import { writeExport, writeLog } from '../../support/rigs/writtenLog.js';
import type { FuzzTarget } from '../target.js';

/** A file of these bytes that is in no folder. */
const fileOf = (bytes: Uint8Array): ExportFile =>
  new ExportFile(
    'fuzzed',
    {
      read: async (into, offset, length, position) => ({
        bytesRead: Buffer.from(bytes).copy(into, offset, position, position + length),
      }),
      close: async () => undefined,
    },
    bytes.length,
  );

export const exports: FuzzTarget = {
  name: 'exports',
  open: async () => {
    const { bytes } = await writeExport(writeLog());
    return {
      samples: [bytes],
      tryOne: async (input) => {
        const file = fileOf(input);
        const report = await verifyLog(file);
        const isRefused = report.refusal !== undefined || checkExport(file, report).problems.length > 0;
        if (!isRefused && Buffer.compare(input, bytes) !== 0) throw new Error('an export is taken that nobody wrote');
        return isRefused ? 'refused' : 'taken';
      },
      close: async () => undefined,
    };
  },
};
