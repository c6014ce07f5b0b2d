import { errorTable } from '../../errors/error-table.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';

/**
 * The newest CPI API version that is supported. Version 3 adds the third argument of create_stemcell and
 * nothing else.
 */
export const newestApiVersion = 3;

export interface CpiRequest {
  readonly method: string;
  readonly arguments: readonly unknown[];
  /** This is undefined for the director's `info`, and 1 for the CLI's. */
  readonly apiVersion: number | undefined;
  readonly context: Readonly<Record<string, unknown>>;
}

export interface CpiError {
  readonly type: string;
  readonly message: string;
  readonly ok_to_retry: boolean;
}

/**
 * The response on stdout. All three keys are mandatory (bosh: src/bosh-director/lib/clouds/external_cpi.rb).
 */
export interface CpiResponse {
  readonly result: unknown;
  readonly error: CpiError | null;
  readonly log: string;
}

/**
 * Parses the request that a BOSH caller wrote to stdin. Throws INVALID_REQUEST without quoting the text: it
 * may contain credentials.
 */
export function parseRequest(text: string): CpiRequest {
  const request = parseObject(text);
  const { method, arguments: args = [], api_version: version, context } = request;
  if (typeof method !== 'string' || method === '') throw invalidRequest('"method" is not a string');
  if (!Array.isArray(args)) throw invalidRequest('"arguments" is not an array');
  if (version !== undefined && version !== null && !Number.isInteger(version)) {
    throw invalidRequest('"api_version" is not an integer');
  }
  if (context !== undefined && context !== null && !isRecord(context))
    throw invalidRequest('"context" is not an object');
  return {
    method,
    arguments: args,
    apiVersion: typeof version === 'number' ? version : undefined,
    context: isRecord(context) ? context : {},
  };
}

/**
 * Rejects versions that cannot be supported: version 1 delivers disks through a registry, which no longer
 * exists. Throws NOT_SUPPORTED. `info` is not checked: by it a caller learns the version.
 */
export function checkApiVersion(version: number | undefined): void {
  if (version === undefined || (version >= 2 && version <= newestApiVersion)) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `CPI API version ${version} is not supported; this CPI supports 2 and ${newestApiVersion}: use one of these`,
  );
}

export function successResponse(result: unknown, log: string): CpiResponse {
  return { result: result ?? null, error: null, log };
}

/**
 * Returns the response for any thrown value. `redact` is applied to the message, which may contain text of
 * the API server. An error that is not a ProductError is a bug of the CPI.
 */
export function errorResponse(error: unknown, redact: (text: string) => string): CpiResponse {
  return { result: null, error: describe(error, redact), log: '' };
}

function describe(error: unknown, redact: (text: string) => string): CpiError {
  if (isProductError(error)) {
    const { boshType, okToRetry } = errorTable[error.code];
    // callers see only the type, and most codes share one
    return { type: boshType, message: `${redact(error.message)} [${error.code}]`, ok_to_retry: okToRetry };
  }
  return { type: 'Bosh::Clouds::CpiError', message: redact(internalErrorMessage(error)), ok_to_retry: false };
}

function internalErrorMessage(error: unknown): string {
  if (!(error instanceof Error)) return 'a fault in the CPI; please report it';
  const where = error.stack?.split('\n').find((line) => line.trimStart().startsWith('at '));
  return `a fault in the CPI, please report it: ${error.name}: ${error.message}${where === undefined ? '' : ` (${where.trim()})`}`;
}

/** More than any caller nests, and few enough for every function that walks a value. */
const maxDepth = 100;

/**
 * Returns whether the brackets of a JSON text nest deeper than the limit. Brackets in strings do not count.
 */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let isString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (isString) {
      if (character === '\\') index += 1;
      else isString = character !== '"';
    } else if (character === '"') isString = true;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth > maxDepth) return true;
  }
  return false;
}

function parseObject(text: string): Record<string, unknown> {
  if (isTooDeep(text)) throw invalidRequest(`it nests more than ${maxDepth} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw invalidRequest('stdin does not contain one JSON object');
  }
  if (!isRecord(value)) throw invalidRequest('stdin contains JSON that is not an object');
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalidRequest(cause: string): ProductError {
  return new ProductError(
    'INVALID_REQUEST',
    `the CPI request cannot be read: ${cause}; write one object {"method", "arguments", "context"} to stdin, as a director does`,
  );
}
