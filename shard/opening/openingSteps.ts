/**
 * Marks the step of a suspect collection's opening in a file, where the next process of this shard finds it.
 *
 * A mark exists only during the turn of the event loop that runs the step. A process that waits or does other work has
 * none. So a process that ended with a mark was ended by the step itself, or by an operator in that very millisecond.
 */
import typia from 'typia';
import { NoteFile } from '../../shared/files/noteFile.js';
import type { Whole } from '../../shared/model/whole.js';
import { nextTurn } from '../../shared/scheduling/slice.js';
import type { MemoryGuard } from '../capacity/memoryGuard.js';

export interface StepMark {
  /** The process, as in the heartbeat of its shard. */
  readonly session: string;
  /** Null if the process is between two steps, or opens no suspect collection. */
  readonly at: {
    readonly collection: Whole;
    /** Number of the opening. */
    readonly number: Whole;
    readonly step: string;
  } | null;
}

interface Options {
  readonly session: string;
  /** Undefined if the file cannot be opened. Then no step is marked. */
  readonly file: Pick<NoteFile, 'read' | 'write' | 'close'> | undefined;
  readonly memory: Pick<MemoryGuard, 'usedPart'>;
  /** Called if a mark cannot be written. A full disk, for example, must not keep collections closed. */
  readonly onFailure: (error: unknown) => void;
}

const isMark = typia.createIs<StepMark>();

/** With more memory in use, the system or the heap's limit may end the process at any moment. */
const NEARLY_FULL = 0.9;
/** Share of the memory that an opening must have taken to be the cause of its end. */
const OWN_PART = 0.25;

export class OpeningSteps {
  #opening: { readonly collection: number; readonly number: number; readonly usedBefore: number } | undefined;
  /** Current mark. */
  #marked: string | undefined;
  /** Set by the first step of this turn. */
  #memory: 'enough' | 'taken' | 'short' | undefined;

  constructor(private readonly options: Options) {}

  static async open(path: string, options: Omit<Options, 'file'>): Promise<OpeningSteps> {
    const file = await NoteFile.open(path).catch((error: unknown) => options.onFailure(error));
    return new OpeningSteps({ ...options, file: file ?? undefined });
  }

  /** Returns the mark that the previous process of the shard left. It stays until `counted`. */
  async left(): Promise<StepMark | undefined> {
    const mark = await this.options.file?.read().catch(this.options.onFailure);
    return isMark(mark) && mark.session !== this.options.session ? mark : undefined;
  }

  /** Ends, and leaves no mark behind. */
  async close(): Promise<void> {
    this.endOpening();
    await this.options.file?.close();
  }

  /** Removes the mark of the previous process. */
  counted(): void {
    this.#write(undefined);
  }

  beginOpening(collection: number, number: number): void {
    this.#opening = { collection, number, usedBefore: this.options.memory.usedPart };
    this.#write(undefined);
  }

  endOpening(): void {
    this.#opening = undefined;
    this.#clear();
  }

  /** Marks a step of the opening that begins or resumes in this turn. */
  step(kind: string, number: number): void {
    if (this.#opening === undefined) return;
    if (this.#memory === undefined) {
      this.#memory = this.#look(this.#opening.usedBefore);
      void nextTurn().then(() => this.#clear());
    }
    // With so little memory any other work may end the process, so a mark would prove nothing.
    if (this.#memory === 'short') return;
    const step = this.#memory === 'taken' ? 'memory' : `${kind} ${number}`;
    if (step !== this.#marked) this.#write(step);
  }

  #look(usedBefore: number): 'enough' | 'taken' | 'short' {
    const used = this.options.memory.usedPart;
    if (used < NEARLY_FULL) return 'enough';
    return used - usedBefore >= OWN_PART ? 'taken' : 'short';
  }

  #clear(): void {
    this.#memory = undefined;
    if (this.#marked !== undefined) this.#write(undefined);
  }

  #write(step: string | undefined): void {
    const { session, file, onFailure } = this.options;
    this.#marked = step;
    const opening = this.#opening;
    const at =
      step === undefined || opening === undefined
        ? null
        : { collection: opening.collection, number: opening.number, step };
    try {
      file?.write({ session, at } satisfies StepMark);
    } catch (error) {
      onFailure(error);
    }
  }
}
