import type { Backend } from '../backend.js';

/** Only a cluster's log is replicated, and only then has its index a meaning to callers. */
export const logIndex = ({ mode }: Backend, sequence: number): { log_index?: number } =>
  mode === 'cluster' ? { log_index: sequence } : {};
