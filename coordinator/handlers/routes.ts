/**
 * Every route of the API, in the order of its documentation. The server, the rate limiter, the metrics and the OpenAPI
 * document read this table. The route of `/metrics` is separate: the settings decide its address.
 */
import type { Route } from '../http/route.js';
import { ACCESS_ROUTES } from './access.js';
import { ALIAS_ROUTES } from './aliases.js';
import { CLUSTER_ROUTES } from './cluster.js';
import { COLLECTION_ROUTES } from './collections.js';
import { ENCRYPTED_ROUTES } from './encrypted.js';
import { ERASURE_ROUTES } from './erasures.js';
import { EXPORT_ROUTES } from './exports.js';
import { GRAPH_ROUTES } from './graph.js';
import { IMPORT_ROUTES } from './imports.js';
import { KEY_ROUTES } from './keys.js';
import { PROOF_ROUTES } from './proofs.js';
import { RECORD_READ_ROUTES } from './recordReads.js';
import { RECORD_ROUTES } from './records.js';
import { SEARCH_ROUTES } from './search.js';
import { SERVICE_ROUTES } from './service.js';

export const API_ROUTES: readonly Route[] = [
  ...COLLECTION_ROUTES,
  ...ALIAS_ROUTES,
  ...RECORD_ROUTES,
  ...RECORD_READ_ROUTES,
  ...ENCRYPTED_ROUTES,
  ...ERASURE_ROUTES,
  ...SEARCH_ROUTES,
  ...GRAPH_ROUTES,
  ...PROOF_ROUTES,
  ...ACCESS_ROUTES,
  ...EXPORT_ROUTES,
  ...IMPORT_ROUTES,
  ...KEY_ROUTES,
  ...CLUSTER_ROUTES,
  ...SERVICE_ROUTES,
];
