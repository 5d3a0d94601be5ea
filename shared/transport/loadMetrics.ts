import type { Registry } from 'prom-client';
import { gaugesOf } from '../gauges.js';
import type { Transport } from './transport.js';

/** What a process waits for from others; read when the metrics are. */
export function observeTransport(registry: Registry, transport: Pick<Transport, 'load'>): void {
  const gauge = gaugesOf(registry, () => transport.load);
  gauge('vouch_messages_unanswered', 'Questions to other processes that are not answered yet.', (now) => now.requests);
  gauge('vouch_messages_unanswered_bytes', 'Bytes of them.', (now) => now.bytes);
  gauge('vouch_unsent_bytes', 'Bytes that wait in the connection to NATS.', (now) => now.unsentBytes);
}
