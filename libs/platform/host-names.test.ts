import { expect, test } from 'vitest';
import { allowedHostnames, hostnameOf } from './host-names.ts';

test.each([
  ['bridge.example', 'bridge.example'],
  ['bridge.example:8443', 'bridge.example'],
  ['https://Bridge.example:8443', 'bridge.example'],
  ['127.0.0.1:80', '127.0.0.1'],
  ['[::1]:80', '[::1]'],
  ['fd00::7', '[fd00::7]'],
  ['', undefined],
  ['two words', undefined],
])('the name in %j is %j', (value, name) => {
  expect(hostnameOf(value)).toBe(name);
});

test('a setting without a name allows nothing, least of all a request without one', () => {
  const names: (string | undefined)[] = allowedHostnames('0.0.0.0', ['two words', 'bridge.example:8443']);
  expect(names).toEqual(['localhost', '127.0.0.1', '[::1]', 'bridge.example']);
});

test('the address a service listens on is one of its names', () => {
  expect(allowedHostnames('10.0.0.7', [])).toContain('10.0.0.7');
});
