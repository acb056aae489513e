import { expect, test } from 'vitest';
import { placeOf } from './line.ts';

test.each([
  ['/run/redis.sock', { path: '/run/redis.sock' }],
  ['redis://redis:6379', { host: 'redis', port: 6379 }],
  ['redis://:p%40ss@[::1]:7000/2', { host: '::1', port: 7000, password: 'p@ss', db: 2 }],
  [
    'rediss://user:secret@example.com',
    { host: 'example.com', port: 6379, username: 'user', password: 'secret', tls: { servername: 'example.com' } },
  ],
])('%s names exactly that place', (address, place) => {
  expect(placeOf(address)).toEqual(place);
});
