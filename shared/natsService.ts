/**
 * Registers a process with NATS' service framework, so that `nats micro ls`, `info` and `stats` show it. Only the
 * endpoints named here run through the framework; what the transport serves is counted in the endpoints' statistics,
 * and pays nothing for it.
 */
import { messageOf } from './errors.js';
import { fromNats } from './natsError.js';
import type { ClusterPlatform } from './natsPlatform.js';
import type { Serving } from './transport/transport.js';

export interface ServiceDescription {
  readonly name: 'vouch-shard' | 'vouch-coordinator';
  /** As semantic versioning writes them. */
  readonly version: string;
  readonly description: string;
  readonly metadata: { readonly [key: string]: string };
  readonly endpoints: readonly ServiceEndpoint[];
}

export interface ServiceEndpoint {
  readonly name: string;
  readonly subject: string;
  /** Answers with JSON, for a person who asks with `nats req`. */
  readonly answer: () => Promise<unknown>;
}

/** Throws VouchError `unavailable`. */
export async function registerService(platform: ClusterPlatform, described: ServiceDescription): Promise<Serving> {
  const { connection, transport } = platform;
  const { name, version, description, metadata, endpoints } = described;
  const service = await connection.call(() =>
    connection.nc.services.add({
      name,
      version,
      description,
      metadata: { ...metadata },
      statsHandler: async () => ({ ...transport.counts, subjects: transport.subjects }),
    }),
  );
  for (const { name: endpoint, subject, answer } of endpoints)
    service.addEndpoint(endpoint, {
      subject,
      handler: async (error, msg) => {
        if (error) return;
        try {
          msg.respond(JSON.stringify(await answer()));
        } catch (failure) {
          connection.logger.error({ error: messageOf(failure), endpoint }, 'an endpoint failed');
          msg.respondError(503, 'the endpoint failed');
        }
      },
    });
  return {
    stop: async () => {
      if (connection.connected) await service.stop().catch((error: unknown) => Promise.reject(fromNats(error)));
    },
  };
}
