/** Says what is wrong with an input: the field, what is the matter, and what would be accepted. */
import { ApiError } from '@taskbridge/contract';
import type { z } from 'zod';

interface Fault {
  field: string;
  message: string;
  fix: string;
}

/** The refusal for an input that its schema does not accept. It speaks of the first fault, and names the fields of the others. */
export function refuseInput(error: z.ZodError, schema: z.ZodObject): ApiError {
  const [first, ...others] = error.issues.map((issue) => faultOf(issue, schema));
  const { field, message, fix } = first ?? { field: 'input', message: 'The input is not usable.', fix: 'See the schema of the tool.' };
  const more = [...new Set(others.map((fault) => fault.field))].slice(0, 5);
  return new ApiError('invalid_input', more.length > 0 ? `${message} Look at ${more.join(', ')} too.` : message, { field, fix });
}

function faultOf(issue: z.core.$ZodIssue, schema: z.ZodObject): Fault {
  const field = pathOf(issue.path) || 'input';
  switch (issue.code) {
    case 'unrecognized_keys': {
      const key = pathOf([...issue.path, issue.keys[0] ?? '']);
      const known = issue.path.length === 0 ? ` Accepted: ${Object.keys(schema.shape).join(', ')}.` : '';
      return { field: key, message: `There is no field ${key}.`, fix: `Leave it out.${known}` };
    }
    case 'invalid_type': {
      const missing = issue.input === undefined;
      return {
        field,
        message: missing ? `${field} is missing.` : `${field} has the wrong type: ${issue.message}.`,
        fix: `Give ${field} as ${issue.expected}.`,
      };
    }
    case 'invalid_value':
      return {
        field,
        message: `${field} has a value that is not known.`,
        fix: `Use one of: ${issue.values.map((value) => JSON.stringify(value)).join(', ')}.`,
      };
    case 'too_small':
      return { field, message: `${field} is too small: ${issue.message}.`, fix: `At least ${issue.minimum}${unitOf(issue.origin)}.` };
    case 'too_big':
      return { field, message: `${field} is too big: ${issue.message}.`, fix: `At most ${issue.maximum}${unitOf(issue.origin)}.` };
    default:
      return { field, message: `${field} is not usable.`, fix: `${issue.message.replace(/\.$/, '')}.` };
  }
}

const units: Record<string, string> = { string: ' characters', array: ' items' };
const unitOf = (origin: string): string => units[origin] ?? '';

/** As the record names fields too: `tasks[0].goal`. */
const pathOf = (path: PropertyKey[]): string =>
  path.reduce<string>((text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}${text ? '.' : ''}${String(part)}`), '');
