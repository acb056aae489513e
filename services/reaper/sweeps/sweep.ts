/** A sweep: looks for one kind of thing that events did not tell of, and settles it. */
export interface Sweep {
  readonly name: string;
  /** @returns in how many milliseconds it wants to look again, when sooner than the next round */
  run(now: number): Promise<number | undefined>;
}
