import { expect, test } from 'vitest';
import { cleaner, cut, firstLine, safeText } from './safe-text.ts';

test('whatever an agent prints becomes well-formed text', () => {
  expect(safeText(Buffer.from([0x61, 0xff, 0xfe, 0x00, 0x62]))).toBe('a\ufffd\ufffd\ufffdb');
  expect(safeText('a\ud800b')).toBe('a\ufffdb');
  expect(safeText('\u001b[31mred\u001b[0m\tone\r\ntwo\rthree\u2028')).toBe('red\tone\ntwo\nthree\ufffd');
  expect(safeText('grün 日本 🎉')).toBe('grün 日本 🎉');
});

test('a 10 MB line is handled without holding up the process', () => {
  const started = performance.now();
  expect(cleaner(['secret-value'])('x'.repeat(10_000_000)).length).toBe(10_000_000);
  expect(performance.now() - started).toBeLessThan(3_000);
});

test('secrets do not survive escape codes or broken bytes', () => {
  expect(cleaner(['my-model-key'])('key my-mo\u001b[1mdel-key end')).toBe('key [redacted] end');
});

test('a cut says that it is one, and never leaves half a character', () => {
  expect(cut('short', 10)).toBe('short');
  const text = cut('🎉'.repeat(100), 101);
  expect(text.length).toBeLessThanOrEqual(101);
  expect(text.isWellFormed()).toBe(true);
  expect(text).toContain('[cut, 200 characters in all]');
});

test('the first line is the first that says something', () => {
  expect(firstLine('\n  \n hello \nworld', 100)).toBe('hello');
  expect(firstLine('', 100)).toBe('');
});
