/** Judges of a simulated cluster, which see whatever passes its NATS servers and whatever those store. */
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

/** Entries of what each project is granted. */

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
    /** Of the processes, as variables of the environment. */
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

  /** What the logs hold, and what is noted of them. */
  ends(): LogEnd[] {
    return [...this.#logs.ends()];
  }

  /** What the logs hold, with all their frames. */
  before(): LogBefore[] {
    return this.#logs.before();
  }

  /** Whether the servers have lost entries of the service log of which a checkpoint is left. */
  get isRolledBack(): boolean {
    return this.serviceLog.isRolledBack;
  }

  /** To be called when the servers have lost what they had not synced, and all processes have ended. */
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
