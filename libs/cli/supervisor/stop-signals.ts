/** Tells when the stack is to stop: the person's Ctrl-C, a signal, or the loss of the process that started it. */

/** Ctrl-C reaches a process once from the terminal and once more through npm and the bootstrap; within this time it is the same one. */
const sameMs = 1_000;

/** Calls `onStop` at the first sign, and `onKill` when the person insists. */
export function watchStopSignals(onStop: (why: string) => void, onKill: () => void): void {
  let firstAt: number | undefined;
  const heard = (why: string) => {
    if (firstAt === undefined) {
      firstAt = Date.now();
      onStop(why);
    } else if (Date.now() - firstAt > sameMs) {
      onKill();
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => heard(signal));
  if (process.channel) {
    process.on('disconnect', () => heard('the process that started the stack is gone'));
    // To listen must not keep this process alive.
    process.channel.unref();
  }
}
