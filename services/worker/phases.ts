/** How long each step of an attempt took. */

export interface Phases {
  /** Ends the phase before and begins this one. */
  enter(phase: string): void;
  /** Every phase so far, in order, in milliseconds; the last one up to now. */
  list(): { phase: string; ms: number }[];
}

export function timePhases(now: () => number = () => performance.now()): Phases {
  const entered: { phase: string; at: number }[] = [];
  return {
    enter: (phase) => void entered.push({ phase, at: now() }),
    list: () => entered.map(({ phase, at }, i) => ({ phase, ms: Math.max(0, Math.round((entered[i + 1]?.at ?? now()) - at)) })),
  };
}
