/** The judges of a simulated cluster. They receive all traffic of its NATS servers, and every stored message. */
import type { Broker, Message } from '../nats/broker.js';
import { EXPECTED, type JetStream } from '../nats/jetStream.js';
import { headerIn } from '../nats/protocol.js';
import type { Party } from '../world/party.js';
import type { World } from '../world/world.js';
import { AnswersJudge } from './answersJudge.js';
import { Findings } from './findings.js';
import { judgeIndexes } from './indexJudge.js';
import { type LogBefore, type LogEnd, LogsJudge } from './logsJudge.js';
import { judgeMemory } from './memoryJudge.js';
import { OwnersJudge } from './ownersJudge.js';
import { quotaJudgeOf } from './quotaJudge.js';
import { ServiceLogJudge } from './serviceLogJudge.js';
import { StatesJudge } from './statesJudge.js';

export class ClusterJudge {
  readonly findings: Findings;
  readonly states: StatesJudge;
  readonly #owners: OwnersJudge;
  readonly #logs: LogsJudge;
  readonly #answers: AnswersJudge;
  readonly serviceLog: ServiceLogJudge;

  constructor(
    world: World,
    broker: Broker,
    private readonly jetStream: JetStream,
    /** Settings of the processes, as environment variables. */
    settings: Readonly<Record<string, string>>,
  ) {
    const staleMs = Number(settings.VOUCH_FOLLOWERS_STALE_MS);
    this.findings = new Findings(world);
    const quotas = quotaJudgeOf(this.findings, settings);
    this.states = new StatesJudge(this.findings, quotas);
    judgeMemory(this.findings);
    judgeIndexes(this.findings);
    this.#owners = new OwnersJudge(this.findings, Number(settings.VOUCH_LEASE_MS));
    this.#logs = new LogsJudge(this.findings, this.#owners);
    this.serviceLog = new ServiceLogJudge(this.findings, this.#logs);
    this.#answers = new AnswersJudge(this.findings, this.#owners, this.#logs, staleMs);
    broker.tap = {
      published: (from, message) => this.#published(from, message),
      arrived: (at, { subject, reply }) => this.#answers.arrived(at, subject, reply),
    };
    jetStream.onStored = (op) => {
      const { subject, body, by } = op;
      this.#owners.stored(subject, body, by);
      this.#logs.stored(subject, body);
      this.serviceLog.stored(subject, body);
    };
  }

  /** Returns the end of each log, and its watermark. */
  ends(): LogEnd[] {
    return [...this.#logs.ends()];
  }

  /** Returns each log as it is now, with all its frames. */
  before(): LogBefore[] {
    return this.#logs.before();
  }

  /** Whether the servers have lost service log entries that a surviving checkpoint covers. */
  get isRolledBack(): boolean {
    return this.serviceLog.isRolledBack;
  }

  /** Forgets the past, and reads the messages that the servers still have. Call it after they have lost unsynced data. */
  lost(): void {
    this.states.forget();
    this.#owners.forget();
    this.#logs.forget();
    this.#logs.isLossKnown = true;
    this.serviceLog.forget();
    for (const { subject, body } of this.jetStream.stored()) {
      this.#logs.stored(subject, body);
      this.serviceLog.stored(subject, body);
    }
    this.serviceLog.compare();
  }

  #published(from: Party, { subject, headers, body }: Message): void {
    this.#answers.published(from, subject, body);
    this.#logs.published(subject, body, from.name, headerIn(headers, EXPECTED) !== undefined);
  }
}
