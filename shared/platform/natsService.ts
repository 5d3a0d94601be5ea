/**
 * Makes a process visible to `nats micro ls`, `info` and `stats`, by NATS' service framework (ADR-32). Unlike that of nats.js,
 * this implementation shows the counts of the transport without a cost for each message, and an id that names the process.
 */
import { createInbox, type Msg } from 'nats';
import { messageOf } from '../errors/errors.js';
import { isAnswerable } from '../nats/roles.js';
import { newServed, type Served, serviceError } from '../transport/natsServing.js';
import { ENDPOINTS, type Endpoint } from '../transport/subjects.js';
import type { Serving } from '../transport/transport.js';
import type { ClusterPlatform } from './natsPlatform.js';

export interface ServiceDescription {
  readonly name: 'vouch-shard' | 'vouch-coordinator';
  /** The name of the process. */
  readonly instance: string;
  /** A semantic version. */
  readonly version: string;
  readonly description: string;
  readonly metadata: { readonly [key: string]: string };
  /** Endpoints of the transport, with its counts. */
  readonly serves: readonly Endpoint[];
  /** An endpoint for a person who asks with `nats req`: `answer` returns JSON. */
  readonly endpoint: { readonly name: string; readonly subject: string; readonly answer: () => Promise<unknown> };
}

const VERBS = ['PING', 'INFO', 'STATS'] as const;
type Verb = (typeof VERBS)[number];

const NANOS_PER_MS = 1e6;
/** The queue groups of the framework and of the transport. */
const ENDPOINT_GROUP = 'q';
const TRANSPORT_GROUP = 'vouch';

interface Shown {
  readonly name: string;
  readonly subject: string;
  readonly queue_group: string;
  readonly served: Served;
}

/** Throws VouchError `unavailable`. */
export async function registerService(platform: ClusterPlatform, described: ServiceDescription): Promise<Serving> {
  const { connection, transport } = platform;
  const { name, instance, endpoint, serves } = described;
  // A token of subjects, different for two processes of one name.
  const id = `${instance.replace(/[^\w-]/g, '_')}-${createInbox().slice(-6)}`;
  const started = new Date(connection.clock.nowMs()).toISOString();
  const served = newServed();
  const shown: Shown[] = [
    ...serves.map((of) => ({
      ...{ name: of, subject: ENDPOINTS[of], queue_group: TRANSPORT_GROUP },
      served: transport.counts.get(of)!,
    })),
    { name: endpoint.name, subject: endpoint.subject, queue_group: ENDPOINT_GROUP, served },
  ];
  const subscribe = (subject: string, answer: (msg: Msg) => void, queue?: string) =>
    connection.nc.subscribe(subject, {
      ...(queue && { queue }),
      callback: (error, msg) => void (error || !isAnswerable(msg) || answer(msg)),
    });
  const subscriptions = VERBS.flatMap((verb) =>
    ['', `.${name}`, `.${name}.${id}`].map((address) =>
      subscribe(`$SRV.${verb}${address}`, (msg) =>
        msg.respond(JSON.stringify(answerTo(verb, described, { id, started }, shown))),
      ),
    ),
  );
  subscriptions.push(
    subscribe(endpoint.subject, (msg) => void answerPerson(platform, msg, endpoint.answer, served), ENDPOINT_GROUP),
  );
  await connection.call(() => connection.nc.flush());
  return {
    stop: async () => {
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}

function answerTo(
  verb: Verb,
  { name, version, description, metadata }: ServiceDescription,
  { id, started }: { readonly id: string; readonly started: string },
  shown: readonly Shown[],
): object {
  const identity = { name, id, version, metadata };
  switch (verb) {
    case 'PING':
      return { type: 'io.nats.micro.v1.ping_response', ...identity };
    case 'INFO': {
      const endpoints = shown.map(({ served: _, ...endpoint }) => ({ ...endpoint, metadata: null }));
      return { type: 'io.nats.micro.v1.info_response', ...identity, description, endpoints };
    }
    case 'STATS':
      return { type: 'io.nats.micro.v1.stats_response', ...identity, started, endpoints: shown.map(statisticsOf) };
  }
}

function statisticsOf({ served, ...endpoint }: Shown): object {
  const { requests, failed, lastFailure, late, inFlight, tookMs } = served;
  return {
    ...endpoint,
    num_requests: requests,
    num_errors: failed,
    last_error: lastFailure,
    processing_time: Math.round(tookMs * NANOS_PER_MS),
    average_processing_time: requests === 0 ? 0 : Math.round((tookMs * NANOS_PER_MS) / requests),
    data: { late, under_way: inFlight },
  };
}

async function answerPerson(
  { connection: { logger, clock } }: ClusterPlatform,
  msg: Msg,
  answer: () => Promise<unknown>,
  served: Served,
): Promise<void> {
  const cameMs = clock.monotonicMs();
  served.requests++;
  try {
    msg.respond(JSON.stringify(await answer()));
  } catch (failure) {
    logger.error({ error: messageOf(failure), subject: msg.subject }, 'an endpoint failed');
    served.failed++;
    served.lastFailure = 'the endpoint failed';
    msg.respond(undefined, { headers: serviceError(served.lastFailure) });
  } finally {
    served.tookMs += clock.monotonicMs() - cameMs;
  }
}
