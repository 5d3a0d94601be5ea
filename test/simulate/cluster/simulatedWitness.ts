/** A witness of the service log on a machine of its own, and the judge of its cosignatures. */
import { openWitness } from '../../../scripts/witness/open.js';
import type { Witness } from '../../../scripts/witness/witness.js';
import { systemClock } from '../../../shared/clock.js';
import { openSigner } from '../../../shared/signing/signer.js';
import {
  COSIGNATURE,
  formatVerifierKey,
  parseNote,
  parseTreeHead,
  parseVerifierKey,
  type TreeHead,
  verifierKey,
} from '../../../verifier/index.js';
import { DISKS } from '../disk/simulatedFiles.js';
import { type Fetched, type FetchReply, fetchServersIn } from '../http/fetch.js';
import type { Findings } from '../judges/findings.js';
import type { ServiceLogJudge } from '../judges/serviceLogJudge.js';
import type { Party } from '../world/party.js';
import type { World } from '../world/world.js';
import { SimulatedProcess } from './simulatedProcess.js';

const NAME = 'w1';
const ADDRESS = '10.0.4.1:8082';
const FOLDER = `${DISKS}${NAME}/data`;
/** Refusals that mean a fork: the log signed something that does not continue its earlier signatures. */
const FORK = /they differ from those seen|do not continue/;

const CHECKPOINT = /^\/([0-9a-f]{64})\/checkpoint$/;
const NOTHING: FetchReply = { status: 404, body: '' };

export class SimulatedWitness {
  readonly process: SimulatedProcess;
  /** Whether it publishes its checkpoint, which the standard does not ask for. */
  readonly #shows: boolean;
  /** The newest checkpoint that it has cosigned. */
  #seen: TreeHead | undefined;

  constructor(
    private readonly world: World,
    private readonly log: ServiceLogJudge,
    private readonly findings: Findings,
    /** Whether the log's servers have lost entries. */
    private readonly hasLost: () => boolean,
    /** Public key of the log, as in its policies. */
    private readonly logKey: string,
  ) {
    this.#shows = world.random('witness').next() < 0.5;
    this.process = new SimulatedProcess(world, NAME, (party) => this.#begin(party));
  }

  /** The policy for coordinators, which wait for its cosignature. Call it before their start. */
  async policy(): Promise<string> {
    const { publicKey } = await openSigner(`${FOLDER}/witness.key`);
    const key = formatVerifierKey(verifierKey(NAME, COSIGNATURE, publicKey));
    return `log ${this.logKey}\nwitness ${NAME} ${key} http://${ADDRESS}\nquorum ${NAME}\n`;
  }

  /** Whether it has cosigned entries that the log no longer has. */
  get isContradicted(): boolean {
    return this.#seen !== undefined && !this.log.holds(this.#seen);
  }

  async #begin(party: Party): Promise<() => Promise<void>> {
    const refused = (reason: string): void => {
      this.world.note(`refuses: ${reason}`, NAME);
      if (FORK.test(reason) && !this.hasLost())
        this.findings.add(`the service log has signed two histories: ${reason}`);
    };
    const logs = [parseVerifierKey(this.logKey)];
    const { witness, close } = await openWitness(FOLDER, NAME, { logs, clock: systemClock, onRefused: refused });
    fetchServersIn(this.world).set(ADDRESS, { party, answer: (request) => this.#answer(witness, request) });
    return close;
  }

  async #answer(witness: Witness, { method, path, body }: Fetched): Promise<FetchReply> {
    if (method === 'POST') return this.#cosign(witness, body);
    const [, origin] = CHECKPOINT.exec(path) ?? [];
    const note = origin === undefined || !this.#shows ? undefined : witness.checkpoint(origin);
    return note === undefined ? NOTHING : { status: 200, body: note };
  }

  async #cosign(witness: Witness, body: string): Promise<FetchReply> {
    const reply = await witness.addCheckpoint(body);
    if (reply.status !== 200) return reply;
    const head = parseTreeHead(parseNote(body.slice(body.indexOf('\n\n') + 2)).text);
    if (!this.log.holds(head))
      this.findings.add(`a witness has cosigned ${head.size} entries that the service log does not hold`);
    this.#seen = head;
    return reply;
  }
}
