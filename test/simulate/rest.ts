/** Makes clients rest: while it lasts they ask nothing. */
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

  /** To be awaited before each question; undefined while nobody rests. */
  readonly over = (): Promise<void> | undefined => this.#over;
}
