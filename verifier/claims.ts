/** Compares a person's receipts, checkpoints and certificates of erasure with the log itself. */
import { actorText } from './actor.js';
import { type Alteration, Sightings } from './alteration.js';
import { equal, toHex } from './bytes.js';
import { type Checkpoint, notOfLog, servedAs, verifyCheckpoint } from './checkpoint.js';
import { counted } from './counted.js';
import { ErasedEvents } from './erasedEvents.js';
import { type ErasedCollection, type Erasure, verifyErasure } from './erasure.js';
import type { Genesis, LogEvent } from './events.js';
import type { LogReport } from './log.js';
import {
  chainHeadAfter,
  notOfAnswer,
  notOfMoment,
  type Proof,
  readProof,
  receiptIn,
  verifyReceipt,
  type WriteReceipt,
} from './receipt.js';
import type { LogState, Moment } from './replay.js';

export interface ClaimResult {
  readonly kind: 'receipt' | 'checkpoint' | 'erasure';
  readonly name: string;
  /** Reasons why it is not of this log; empty if it is. */
  readonly problems: readonly string[];
  /** For people: which write, or how many events. */
  readonly about: string;
  /** The key of a signed checkpoint, or of the statement in a certificate, in hex. */
  readonly publicKey?: string;
  /** The collection that a signed checkpoint names, also that of a certificate. */
  readonly origin?: Checkpoint['origin'];
}

interface Claim {
  readonly kind: ClaimResult['kind'];
  readonly name: string;
  about: string;
  publicKey?: string;
  origin?: Checkpoint['origin'];
  /** Undefined until the replay reaches the event that the claim is about. */
  problems: string[] | undefined;
}

interface ErasureClaim {
  readonly claim: Claim;
  readonly erasure: Erasure;
  readonly knownKey: string | undefined;
  readonly events: ErasedEvents;
  /** Reasons why the log is not the one of a collection's checkpoint. */
  readonly ofLog: ReadonlyMap<ErasedCollection, string[]>;
}

/** Add all claims, replay the log with their `watches` and `onEvent`, then ask for the results. */
export class Claims {
  /** Comparisons of the claims, by the sequence at which the replay makes them: the option `watches` of `verifyLog`. */
  readonly watches = new Map<bigint, ((moment: Moment) => void)[]>();
  readonly #claims: Claim[] = [];
  readonly #sightings = new Sightings();
  readonly #erasures: ErasureClaim[] = [];
  readonly #ofEmptyLogs: { readonly claim: Claim; readonly checkpoint: Checkpoint }[] = [];
  #genesis: Genesis | undefined;

  addReceipt(name: string, json: unknown): void {
    const claim: Claim = { kind: 'receipt', name, about: 'a write', problems: undefined };
    this.#claims.push(claim);
    let receipt: WriteReceipt;
    let proof: Proof;
    try {
      receipt = receiptIn(json);
      const problems = [...notOfAnswer(json, receipt), ...verifyReceipt(receipt)];
      if (problems.length > 0) throw new Error(problems.join('; '));
      proof = readProof(receipt.proof);
    } catch (error) {
      claim.problems = [(error as Error).message];
      return;
    }
    claim.about = `write ${proof.sequence}, record ${proof.recordId}${proof.actor === null ? '' : `, by ${actorText(proof.actor)}`}`;
    this.#watch(proof.sequence, (moment) => {
      claim.problems = notOfMoment(receipt, moment);
      if (!equal(proof.configHash, moment.after.configHash)) return;
      const { sequence, chainHeadBefore } = proof;
      this.#sightings.add(sequence - 1n, toHex(chainHeadBefore), moment.headBefore, moment);
      this.#sightings.add(sequence, toHex(chainHeadAfter(proof)), moment.after.chainHead, moment);
    });
  }

  addCheckpoint(name: string, json: unknown, knownKey?: string): void {
    const claim: Claim = { kind: 'checkpoint', name, about: 'a log', problems: undefined };
    this.#claims.push(claim);
    let checkpoint: Checkpoint;
    try {
      checkpoint = verifyCheckpoint(json, knownKey);
    } catch (error) {
      claim.problems = [(error as Error).message];
      return;
    }
    const { size, publicKey } = checkpoint;
    claim.about = counted(size, 'event');
    claim.publicKey = publicKey;
    claim.origin = checkpoint.origin;
    if (size === 0n) this.#ofEmptyLogs.push({ claim, checkpoint });
    else
      this.#watch(size - 1n, (moment) => {
        const { after } = moment;
        this.#hold(claim, checkpoint, this.#genesis!, after);
        if (checkpoint.origin.configHash === toHex(after.configHash))
          this.#sightings.add(size - 1n, checkpoint.chainHead, after.chainHead, moment);
      });
  }

  /**
   * Adds a certificate of erasure. The log must be that of its checkpoint, and the certificate must name all events under the key.
   * Its statement about the collection must be signed with `knownKey`, in hex; without it, any key will do.
   */
  addErasure(name: string, json: unknown, knownKey?: string): void {
    const claim: Claim = { kind: 'erasure', name, about: 'a key', problems: undefined };
    this.#claims.push(claim);
    try {
      const erasure = verifyErasure(json);
      claim.about = `key ${erasure.keyId}`;
      const ofLog = new Map<ErasedCollection, string[]>();
      for (const one of erasure.collections)
        this.#watch(one.checkpoint.size - 1n, ({ after }) =>
          ofLog.set(one, notOfLog(one.checkpoint, one.checkpoint.size, after)),
        );
      this.#erasures.push({ claim, erasure, knownKey, events: new ErasedEvents(erasure), ofLog });
    } catch (error) {
      claim.problems = [(error as Error).message];
    }
  }

  /** The option of `verifyLog`. */
  readonly onEvent = (event: LogEvent): void => {
    for (const { events } of this.#erasures) events.take(event);
  };

  /**
   * The range of sequences that contains the first altered event, as the claims show. Undefined if they show no alteration.
   * Call it after the replay.
   */
  alteration(): Alteration | undefined {
    return this.#sightings.alteration();
  }

  /** Call it after the replay. `before`: for an empty log, the genesis that it will get, and its state. */
  results({ size, state }: LogReport, before: { genesis: Genesis; state: LogState } | undefined): ClaimResult[] {
    for (const erasure of this.#erasures) judgeErasure(erasure, toHex(state.configHash), shortOf(size));
    for (const { claim, checkpoint } of this.#ofEmptyLogs)
      if (before !== undefined) this.#hold(claim, checkpoint, before.genesis, before.state);
    return this.#claims.map(({ problems, ...claim }) => ({
      ...claim,
      problems: problems ?? [shortOf(size)],
    }));
  }

  #hold(claim: Claim, checkpoint: Checkpoint, genesis: Genesis, state: LogState): void {
    claim.problems = notOfLog(checkpoint, checkpoint.size, state);
    const served = servedAs(checkpoint, genesis);
    if (served !== undefined) claim.about += `, ${served}`;
  }

  #watch(sequence: bigint, watch: (moment: Moment) => void): void {
    if (this.watches.size === 0) this.watches.set(0n, [({ event }) => this.#begin(event)]);
    const watches = this.watches.get(sequence);
    if (watches === undefined) this.watches.set(sequence, [watch]);
    else watches.push(watch);
  }

  #begin(event: Moment['event']): void {
    if (event.type === 'genesis') this.#genesis = event;
  }
}

const shortOf = (size: bigint): string => `the log has ${counted(size, 'event')} and does not reach that far`;

/** Judges a certificate by its part about the log. A collection and its import have one config hash: either may be meant. */
function judgeErasure(
  { claim, erasure, knownKey, events, ofLog }: ErasureClaim,
  configHash: string,
  short: string,
): void {
  const judged = erasure.collections
    .filter(({ checkpoint }) => checkpoint.origin.configHash === configHash)
    .map((stated) => {
      const isKnown = knownKey === undefined || stated.publicKey === knownKey;
      const signer = isKnown ? [] : [`it is signed with another key, ${stated.publicKey}`];
      return { stated, problems: [...signer, ...(ofLog.get(stated) ?? [short]), ...events.problems(stated)] };
    });
  const best = judged.find(({ problems }) => problems.length === 0) ?? judged[0];
  claim.problems = best?.problems ?? ['it says nothing of this collection'];
  if (best === undefined) return;
  claim.publicKey = best.stated.publicKey;
  claim.origin = best.stated.checkpoint.origin;
}
