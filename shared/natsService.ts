/**
 * Makes a process known to NATS' tools: `nats micro ls`, `info` and `stats` show it. The questions and answers are those
 * of NATS' service framework (ADR-32); they are answered here, and not by nats.js, because what the transport serves is
 * counted there, by what is asked, and pays nothing for being shown, and because an id that tells which process it is
 * is worth more to who looks than a random one.
 */
import { createInbox, type Msg, MsgHdrsImpl, ServiceErrorCodeHeader, ServiceErrorHeader } from 'nats';
import { messageOf } from './errors.js';
import type { ClusterPlatform } from './natsPlatform.js';
import { ENDPOINTS, type Endpoint } from './subjects.js';
import type { Served } from './transport/servedCounts.js';
import type { Serving } from './transport/transport.js';

export interface ServiceDescription {
  readonly name: 'vouch-shard' | 'vouch-coordinator';
  /** Which of them it is. */
  readonly instance: string;
  /** As semantic versioning writes them. */
  readonly version: string;
  readonly description: string;
  readonly metadata: { readonly [key: string]: string };
  /** Of the transport, whose counts are shown. */
  readonly serves: readonly Endpoint[];
  readonly endpoints: readonly AskedByPeople[];
}

export interface AskedByPeople {
  readonly name: string;
  readonly subject: string;
  /** Answers with JSON, for a person who asks with `nats req`. */
  readonly answer: () => Promise<unknown>;
}

const VERBS = ['PING', 'INFO', 'STATS'] as const;
type Verb = (typeof VERBS)[number];

const NANOS_PER_MS = 1e6;
const FAILED = 503;
/** Both as the framework's own. */
const ENDPOINTS_GROUP = 'q';
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
  const { name, instance, endpoints, serves } = described;
  // A token of subjects; two processes of one name are two all the same.
  const id = `${instance.replace(/[^\w-]/g, '_')}-${createInbox().slice(-6)}`;
  const started = new Date(connection.clock.nowMs()).toISOString();
  const shown: Shown[] = [
    ...serves.map((endpoint) => ({
      name: endpoint,
      subject: ENDPOINTS[endpoint],
      queue_group: TRANSPORT_GROUP,
      served: transport.counts.of(endpoint),
    })),
    ...endpoints.map((endpoint) => ({
      name: endpoint.name,
      subject: endpoint.subject,
      queue_group: ENDPOINTS_GROUP,
      served: { requests: 0, failed: 0, lastFailure: '', late: 0, underWay: 0, tookMs: 0 },
    })),
  ];
  const answerOf = (verb: Verb): object => answerTo(verb, described, id, started, shown);
  const subscriptions = VERBS.flatMap((verb) =>
    [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`].map((subject) =>
      connection.nc.subscribe(subject, {
        callback: (error, msg) => {
          if (!error) msg.respond(JSON.stringify(answerOf(verb)));
        },
      }),
    ),
  );
  for (const { subject, answer } of endpoints) {
    const { served } = shown.find((one) => one.subject === subject)!;
    subscriptions.push(
      connection.nc.subscribe(subject, {
        queue: ENDPOINTS_GROUP,
        callback: (error, msg) => {
          if (!error) void answerPerson(platform, msg, answer, served);
        },
      }),
    );
  }
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
  id: string,
  started: string,
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
  const { requests, failed, lastFailure, late, underWay, tookMs } = served;
  return {
    ...endpoint,
    num_requests: requests,
    num_errors: failed,
    last_error: lastFailure,
    processing_time: Math.round(tookMs * NANOS_PER_MS),
    average_processing_time: requests === 0 ? 0 : Math.round((tookMs * NANOS_PER_MS) / requests),
    data: { late, under_way: underWay },
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
    const headers = MsgHdrsImpl.fromRecord({
      [ServiceErrorCodeHeader]: [String(FAILED)],
      [ServiceErrorHeader]: [served.lastFailure],
    });
    msg.respond(undefined, { headers });
  } finally {
    served.tookMs += clock.monotonicMs() - cameMs;
  }
}
