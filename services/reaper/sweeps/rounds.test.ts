import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { startRounds } from './rounds.ts';
import type { Sweep } from './sweep.ts';

const log = pino({ level: 'silent' });
const never = 3_600_000;

function start(sweeps: Sweep[]) {
  const rounds = startRounds(sweeps, never, log);
  onTestFinished(() => rounds.close());
  return rounds;
}

test('a sweep that fails keeps no other from looking, and looks again', async () => {
  const looks: string[] = [];
  const second = Promise.withResolvers<void>();
  const rounds = start([
    {
      name: 'broken',
      run: () => {
        looks.push('broken');
        return Promise.reject(new Error('no'));
      },
    },
    {
      name: 'whole',
      run: async () => {
        looks.push('whole');
        if (looks.length === 2) rounds.soon();
        else second.resolve();
        return undefined;
      },
    },
  ]);
  rounds.soon();
  await second.promise;
  expect(looks).toEqual(['broken', 'whole', 'broken', 'whole']);
});

test('a sweep that wants to look again sooner is heard', async () => {
  const again = Promise.withResolvers<void>();
  let looks = 0;
  const rounds = start([
    {
      name: 'impatient',
      run: async () => {
        looks += 1;
        if (looks === 2) again.resolve();
        return 1;
      },
    },
  ]);
  rounds.soon();
  await again.promise;
});

test('one round at a time, and closing waits for it', async () => {
  const begun = Promise.withResolvers<void>();
  const may = Promise.withResolvers<void>();
  let atOnce = 0;
  let most = 0;
  const rounds = startRounds(
    [
      {
        name: 'slow',
        run: async () => {
          atOnce += 1;
          most = Math.max(most, atOnce);
          begun.resolve();
          await may.promise;
          atOnce -= 1;
          return undefined;
        },
      },
    ],
    never,
    log,
  );
  rounds.soon();
  await begun.promise;
  rounds.soon();
  rounds.soon();
  const closed = rounds.close();
  may.resolve();
  await closed;
  expect([most, atOnce]).toEqual([1, 0]);
});
