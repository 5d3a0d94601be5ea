/** The memory that an opening needs, as far as its watermark says. */
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { NotedWatermark } from './watermarkNotes.js';

/** Memory of a record besides its vector, and per byte of indexed metadata or text; measured, and rounded up. */
const RECORD_BYTES = 500;
const INDEXED_BYTES = 4;

/** Estimates the memory of an opened collection from its watermark. */
export function openBytes({ dimension }: CollectionConfig, noted: NotedWatermark | undefined): number {
  if (noted === undefined) return 0;
  const rowBytes = 4 * dimension;
  if (noted.held === undefined) return noted.sequence * (rowBytes + RECORD_BYTES);
  const { vectors, metadata, texts } = noted.held;
  return vectors + (vectors / rowBytes) * RECORD_BYTES + (metadata + texts) * INDEXED_BYTES;
}
