/**
 * Notes the step of a suspect collection's opening in a file, where the next process of this shard finds it.
 *
 * The file names a step only during the turn of the event loop that runs it. While the process waits or does other work, it
 * names none. So if a process ended with a step in its file, that step ended it, or an operator did in that very millisecond.
 */
import typia from 'typia';
import { NoteFile } from '../../shared/files/noteFile.js';
import type { Whole } from '../../shared/model/whole.js';
import { nextTurn } from '../../shared/scheduling/slice.js';
import type { MemoryGuard } from '../capacity/memoryGuard.js';

export interface StepNote {
  /** Id of the process, as in its heartbeat. */
  readonly session: string;
  /** The step; null between two steps, and while no suspect collection is opened. */
  readonly at: {
    readonly collection: Whole;
    /** Number of the opening. */
    readonly number: Whole;
    readonly step: string;
  } | null;
}

interface Options {
  readonly session: string;
  /** Undefined if the file cannot be opened. Then no step is noted. */
  readonly file: Pick<NoteFile, 'read' | 'write' | 'close'> | undefined;
  readonly memory: Pick<MemoryGuard, 'usedPart'>;
  /** Called if a step cannot be noted. A full disk, for example, must not keep collections closed. */
  readonly onFailure: (error: unknown) => void;
}

const isStepNote = typia.createIs<StepNote>();

/** Share of the memory in use above which the operating system, or the limit of the heap, may end the process at any moment. */
const NEARLY_FULL = 0.9;
/** Share of the memory that an opening must have taken to be the cause of such an end. */
const OWN_PART = 0.25;

export class OpeningSteps {
  #opening: { readonly collection: number; readonly number: number; readonly usedBefore: number } | undefined;
  /** Step in the file. */
  #noted: string | undefined;
  /** State of the memory at the first step of this turn. `taken`: by this opening. */
  #memory: 'enough' | 'taken' | 'short' | undefined;

  constructor(private readonly options: Options) {}

  static async open(path: string, options: Omit<Options, 'file'>): Promise<OpeningSteps> {
    const file = await NoteFile.open(path).catch((error: unknown) => options.onFailure(error));
    return new OpeningSteps({ ...options, file: file ?? undefined });
  }

  /** Returns what the previous process of the shard has noted. It stays in the file until `counted`. */
  async left(): Promise<StepNote | undefined> {
    const note = await this.options.file?.read().catch(this.options.onFailure);
    return isStepNote(note) && note.session !== this.options.session ? note : undefined;
  }

  /** Ends, and leaves no step in the file. */
  async close(): Promise<void> {
    this.endOpening();
    await this.options.file?.close();
  }

  /** Removes the step of the previous process. */
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

  /** Notes the step that the opening begins or resumes in this turn. */
  step(kind: string, number: number): void {
    if (this.#opening === undefined) return;
    if (this.#memory === undefined) {
      this.#memory = this.#look(this.#opening.usedBefore);
      void nextTurn().then(() => this.#clear());
    }
    // With so little memory any other work may end the process, so a noted step would prove nothing.
    if (this.#memory === 'short') return;
    const step = this.#memory === 'taken' ? 'memory' : `${kind} ${number}`;
    if (step !== this.#noted) this.#write(step);
  }

  #look(usedBefore: number): 'enough' | 'taken' | 'short' {
    const used = this.options.memory.usedPart;
    if (used < NEARLY_FULL) return 'enough';
    return used - usedBefore >= OWN_PART ? 'taken' : 'short';
  }

  #clear(): void {
    this.#memory = undefined;
    if (this.#noted !== undefined) this.#write(undefined);
  }

  #write(step: string | undefined): void {
    const { session, file, onFailure } = this.options;
    this.#noted = step;
    const opening = this.#opening;
    const at =
      step === undefined || opening === undefined
        ? null
        : { collection: opening.collection, number: opening.number, step };
    try {
      file?.write({ session, at } satisfies StepNote);
    } catch (error) {
      onFailure(error);
    }
  }
}
