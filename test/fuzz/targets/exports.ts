/** Export files: the verifier accepts only the written one. */
import { checkExport } from '../../../verifier/exportClaims.js';
import { ExportFile } from '../../../verifier/exportFile.js';
import { verifyLog } from '../../../verifier/log.js';
import { writeExport, writeLog } from '../../support/rigs/writtenLog.js';
import type { FuzzTarget } from '../target.js';

/** A file with these bytes, not in any folder. */
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
        if (!isRefused && Buffer.compare(input, bytes) !== 0) throw new Error('an altered export is accepted');
        return isRefused ? 'refused' : 'taken';
      },
      close: async () => undefined,
    };
  },
};
