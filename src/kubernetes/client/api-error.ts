import type { Status } from '../object.ts';
import { countValues, maxJsonValues } from './json-lines.ts';
import { truncateAtWord } from '../../errors/text.ts';

/** The request: its method, and its path below the server's URL without the query. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
}

/** A response of the Kubernetes API that is a Status failure. `code` is the HTTP status. */
export class ApiError extends Error {
  readonly status: Status;
  /** Absent if no request was made: the embedded API in the same process. */
  readonly request: ApiRequest | undefined;

  constructor(status: Status, request?: ApiRequest) {
    super(status.message ?? `${status.code} ${status.reason ?? 'Unknown'}`);
    this.name = 'ApiError';
    this.status = status;
    this.request = request;
  }

  get code(): number {
    return this.status.code;
  }

  get reason(): string {
    return this.status.reason ?? 'Unknown';
  }
}

/** True for an ApiError of that HTTP code (and of that reason, if two reasons share a code). */
export function isApiError(error: unknown, code?: number, reason?: string): error is ApiError {
  return (
    error instanceof ApiError &&
    (code === undefined || error.code === code) &&
    (reason === undefined || error.reason === reason)
  );
}

/**
 * True if the server does not know the resource at all: a 404 that names no object (apiserver,
 * NotFoundHandler).
 */
export function isMissingResource(error: unknown): boolean {
  return isApiError(error, 404) && (error.status.details?.name ?? '') === '';
}

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
  const parsed = parseStatus(body) ?? statusFromText(status, body);
  return new ApiError(isAboutSecrets(request) ? redactSecretStatus(parsed) : parsed, { method, path });
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

/** True for a request on Secrets, whose response may quote them. */
export function isAboutSecrets({ path }: ApiRequest): boolean {
  return /^\/api\/v1\/(?:namespaces\/[^/]+\/)?secrets(?:[/?]|$)/u.test(path);
}

const name = '[a-z0-9][a-z0-9.-]{0,252}';
/**
 * The parts of Kubernetes' own messages that show an operator or our code the cause. Each contains only
 * names.
 */
const safeMessages: readonly string[] = [
  `(?:User "[\\w.:@/-]{1,253}" )?cannot \\w{1,30} resource "secrets" in API group ""(?: in the namespace "${name}"| at the cluster scope)?`,
  `exceeded quota: ${name}`,
  `admission webhook "${name}" denied`,
  `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied`,
  `(?:secrets|namespaces) "${name}" (?:not found|already exists)`,
  'because it is being terminated',
  'the object has been modified',
  'Too long: (?:must have at most|may not be more than) \\d{1,10} bytes',
];

/**
 * Returns the failure of a request on Secrets without the server's free text; code, reason, names and fields
 * stay. A webhook, a proxy or the server may quote the Secret, also if this process does not know that it is
 * secret.
 */
export function redactSecretStatus({ code, reason, message = '', details }: Status): Status {
  const safe = safeMessages.flatMap((pattern) => new RegExp(pattern, 'u').exec(message)?.[0] ?? []);
  const causes = (details?.causes ?? []).flatMap(({ reason: cause, field }) =>
    field !== undefined && /^[\w.[\]"/-]{1,253}$/u.test(field)
      ? [{ field, ...(isReason(cause) && { reason: cause }) }]
      : [],
  );
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code,
    ...(isReason(reason) && { reason }),
    message: safe.length > 0 ? safe.join(', ') : 'its words are left out, since they may quote the Secret',
    ...(details !== undefined && {
      details: { ...named('name', details.name), ...named('kind', details.kind), causes },
    }),
  };
}

const isReason = (reason: string | undefined): reason is string =>
  reason !== undefined && /^[A-Za-z]{1,60}$/u.test(reason);

function named(key: 'name' | 'kind', value: string | undefined): { name?: string; kind?: string } {
  return value !== undefined && new RegExp(`^${name}$`, 'u').test(value) ? { [key]: value } : {};
}

/**
 * Permanent 5xx statuses: not implemented (501), HTTP version not supported (505), insufficient storage
 * (507).
 */
const permanentStatuses: ReadonlySet<number> = new Set([501, 505, 507]);

/**
 * True if the failure may be transient: 408, 429, and any 5xx except `permanentStatuses`. Proxies in front of
 * an API server respond with 502, 504 or with numbers of their own (520 to 530); etcd without a leader shows
 * as 500. The status does not tell whether a write was done: see `retry.ts`.
 */
export const isTransientStatus = (status: number): boolean =>
  status === 408 || status === 429 || (status >= 500 && status < 600 && !permanentStatuses.has(status));
