/** Takes secrets out of text before it is stored, logged or sent. */

const shapes = [
  /\btbk_[0-9a-z]{40}\b/g,
  /\bsk-(?:ant-|or-|proj-)?[\w-]{16,}/g,
  /\bgh[pousr]_\w{30,}/g,
  /\bgithub_pat_\w{30,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bxox[abprs]-[\w-]{10,}/g,
  // User and password in a URL: git prints them in its errors.
  /(?<=[a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]+(?=@)/gi,
];

const mark = '[redacted]';

/** `text` without known token shapes and without any of `secrets` (values of 6 characters or more). */
export function redact(text: string, secrets: readonly string[] = []): string {
  let safe = text;
  for (const secret of secrets) if (secret.length >= 6) safe = safe.replaceAll(secret, mark);
  for (const shape of shapes) safe = safe.replace(shape, mark);
  return safe;
}
