/** Lets clients rest: during a rest they send no requests. */
export class Rest {
  #over: Promise<void> | undefined;
  #end: () => void = () => undefined;

  begin(): void {
    this.#over ??= new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  end(): void {
    this.#end();
    this.#over = undefined;
  }

  /** Awaited by a client before each request; undefined outside of a rest. */
  readonly over = (): Promise<void> | undefined => this.#over;
}
