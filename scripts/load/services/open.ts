import type { Origin } from '../request.js';
import type { Source } from '../source.js';
import { chromaSource } from './chroma.js';
import { pgvectorSource } from './pgvector.js';
import { qdrantSource } from './qdrant.js';

/** The rows of a collection or table of another service. */
export function openService({ service, url, name, key }: Extract<Origin, { kind: 'service' }>): Source {
  switch (service) {
    case 'qdrant':
      return qdrantSource(url, name, key);
    case 'chroma':
      return chromaSource(url, name, key);
    case 'pgvector':
      return pgvectorSource(url, name);
  }
}
