/** Beyond the contract: exporting a collection's log and importing it elsewhere. */
import { assertExportLogQuery } from '../contract/backup.js';
import type { Answer } from '../contract/openapi.js';
import { assertCollectionQuery } from '../contract/records.js';
import { exportFacts, exportLog } from './exports.js';
import { beginImport, finishImport, importLog } from './imports.js';
import { queryType, type Route, route } from './route.js';

const READ = { scope: 'read_only', category: 'read' } as const;
const WRITE = { scope: 'read_write', category: 'write' } as const;

const imported: Answer[] = [{ status: 200, description: 'Where the import stands.', body: 'ImportResponse' }];

export const BACKUP_ROUTES: readonly Route[] = [
  route({
    ...READ,
    method: 'GET',
    path: '/v1/export',
    summary: 'What an export of a collection that begins now will end with',
    query: queryType('CollectionQuery', assertCollectionQuery),
    answers: [{ status: 200, description: 'Success.', body: 'ExportResponse' }],
    errors: ['collection_not_found', 'conflict'],
    handle: exportFacts,
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/export/log',
    summary: "A piece of a collection's log as it is stored",
    query: queryType('ExportLogQuery', assertExportLogQuery),
    answers: [
      {
        status: 200,
        description:
          'Whole frames, each a little-endian u32 length and the frame: up to 8 MiB, and one at least where there is one. ' +
          'The header vouch-last-sequence tells the last event in them, vouch-log-sequence that of the log.',
        body: 'bytes',
      },
    ],
    errors: ['collection_not_found', 'conflict'],
    handle: exportLog,
  }),
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/import',
    summary: 'Announce an export that will be sent, or learn how far it came',
    body: 'beginImport',
    answers: imported,
    errors: ['conflict', 'capacity_exceeded'],
    handle: beginImport,
  }),
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/import/{name}/log',
    summary: 'Send the next frames of an export',
    body: 'frames',
    answers: imported,
    errors: ['collection_not_found', 'conflict', 'capacity_exceeded'],
    handle: importLog,
  }),
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/import/{name}/finish',
    summary: 'Compare what was sent with what was announced, and open the collection for use',
    answers: imported,
    errors: ['collection_not_found', 'conflict'],
    handle: finishImport,
  }),
];
