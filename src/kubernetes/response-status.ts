import { countValues, maxJsonValues } from './count-values.ts';
import type { ApiRequest } from './api-error.ts';
import { ApiError } from './api-error.ts';
import type { Status } from './object.ts';
import { isAboutSecrets, redactSecretStatus } from './secret-status.ts';
import { truncateAtWord } from '../errors/redact/whole-words.ts';

/** The reasons of apimachinery pkg/api/errors/errors.go, NewGenericServerResponse. */
const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/**
 * Returns the error of a response with a failure status: from its Status body, or from any other body. For a
 * request on Secrets, drops the server's free text.
 */
export function responseError(status: number, body: string, request: ApiRequest): ApiError {
  const { method, path } = request;
  const said = parseStatus(body) ?? statusFromText(status, body);
  return new ApiError(isAboutSecrets(request) ? redactSecretStatus(said) : said, { method, path });
}

function parseStatus(body: string): Status | undefined {
  if (body.length > maxJsonValues && countValues(body) > maxJsonValues) return undefined;
  try {
    const value: unknown = JSON.parse(body);
    return isFailure(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) {
      return undefined;
    }
    throw error;
  }
}

function isFailure(value: unknown): value is Status {
  return (
    typeof value === 'object' &&
    value !== null &&
    'kind' in value &&
    value.kind === 'Status' &&
    'code' in value &&
    typeof value.code === 'number'
  );
}

/** Makes a Status of another body: a proxy in front of the API server responds with its own page. */
function statusFromText(code: number, body: string): Status {
  const firstLine = truncateAtWord(body.trim().split('\n', 1)[0] ?? '', 200);
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code,
    reason: reasons[code] ?? 'Unknown',
    message: `the server answered ${code}${firstLine === '' ? '' : `: ${firstLine}`}`,
  };
}
