/** The one table of errors that a client of the gateway or CLI can meet: code, HTTP status. The message names the field and the fix. */

export const apiErrors = {
  invalid_input: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  idempotency_conflict: 409,
  wrong_state: 409,
  too_large: 413,
  limit_reached: 429,
  unavailable: 503,
  internal: 500,
} as const;

export type ApiErrorCode = keyof typeof apiErrors;

/** A refusal: nothing was changed. `field` names the input at fault, `fix` says what would be accepted. */
export class ApiError extends Error {
  readonly code: ApiErrorCode;
  readonly field: string | undefined;
  readonly fix: string | undefined;

  constructor(code: ApiErrorCode, message: string, options: { field?: string; fix?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.field = options.field;
    this.fix = options.fix;
  }

  get status(): number {
    return apiErrors[this.code];
  }
}
