/** Tells waiting calls that something happened to their tasks. One look at the record's events serves all of them. */
import type { Events } from '@taskbridge/record';

/** Events read at a time. */
const pageSize = 500;

export interface TaskWatch {
  /**
   * Calls back after events of any of these tasks.
   * @returns a function that ends it
   */
  on(taskIds: readonly string[], listener: () => void): () => void;
  close(): void;
}

export function watchTasks(events: Events): TaskWatch {
  const listeners = new Map<string, Set<() => void>>();
  let seen = events.last();

  const look = () => {
    if (listeners.size === 0) {
      seen = events.last();
      return;
    }
    const woken = new Set<() => void>();
    for (;;) {
      const page = events.since(seen, pageSize);
      for (const event of page) {
        seen = event.seq;
        for (const listener of listeners.get(event.taskId ?? '') ?? []) woken.add(listener);
      }
      if (page.length < pageSize) break;
    }
    for (const listener of woken) listener();
  };
  const end = events.watch(look);

  return {
    on(taskIds, listener) {
      for (const id of taskIds) {
        const ofTask = listeners.get(id) ?? new Set();
        listeners.set(id, ofTask.add(listener));
      }
      return () => {
        for (const id of taskIds) {
          const ofTask = listeners.get(id);
          ofTask?.delete(listener);
          if (ofTask?.size === 0) listeners.delete(id);
        }
      };
    },
    close: end,
  };
}

/**
 * Waits until `done` holds, looking again after each event of the tasks.
 * @returns false when `ms` milliseconds passed or a signal was aborted before
 */
export function until(
  watch: TaskWatch,
  taskIds: readonly string[],
  done: () => boolean,
  limits: { ms: number; signals: AbortSignal[] },
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const over = () => end(() => resolve(false));
    const look = () => {
      try {
        if (done()) end(() => resolve(true));
        else if (limits.signals.some((signal) => signal.aborted)) over();
      } catch (error) {
        end(() => reject(error));
      }
    };
    const end = (settle: () => void) => {
      clearTimeout(timer);
      unwatch();
      for (const signal of limits.signals) signal.removeEventListener('abort', over);
      settle();
    };
    const timer = setTimeout(over, limits.ms);
    const unwatch = watch.on(taskIds, look);
    for (const signal of limits.signals) signal.addEventListener('abort', over);
    // After the watch began, so that no change falls between.
    look();
  });
}
