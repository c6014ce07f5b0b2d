import { isExec, isWrite, type Fate, type ProxiedRequest } from '../../support/api-proxy.ts';

/** The faults that can be applied to a call's requests. */
export const faultKinds = [
  '429 with Retry-After',
  '500 with Retry-After',
  'slow server',
  'watch closed',
  'watch answered with 410',
  'watch event 410',
  '500',
  '502',
  '503',
  'lost',
  'unheard',
  'silent',
  'expired token',
] as const;
export type FaultKind = (typeof faultKinds)[number];

export const watchFaults: readonly FaultKind[] = [
  'watch closed',
  'watch answered with 410',
  'watch event 410',
];

const status = (code: number, reason: string): object => ({
  ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason, code },
  message: `${reason}, says the suite`,
});

const answer = (code: number, reason: string, headers: Record<string, string> = {}): Fate => ({
  ...{ kind: 'answer', status: code, headers, body: JSON.stringify(status(code, reason)) },
});

const event = (object: object): Fate => ({
  ...{ kind: 'answer', status: 200, body: `${JSON.stringify({ type: 'ERROR', object })}\n` },
});

const fates: Readonly<Record<FaultKind, Fate>> = {
  // Kubernetes sends whole seconds. Zero keeps the suite from waiting longer than the CPI's own delay.
  '429 with Retry-After': answer(429, 'TooManyRequests', { 'retry-after': '0' }),
  '500 with Retry-After': answer(500, 'InternalError', { 'retry-after': '0' }),
  'slow server': { kind: 'late', milliseconds: 50 },
  'watch closed': { kind: 'answer', status: 200, body: '' },
  'watch answered with 410': answer(410, 'Expired'),
  'watch event 410': event(status(410, 'Expired')),
  '500': answer(500, 'InternalError'),
  '502': { kind: 'answer', status: 502, body: '<html>502 Bad Gateway</html>' },
  '503': answer(503, 'ServiceUnavailable'),
  lost: { kind: 'lost' },
  unheard: { kind: 'unheard' },
  silent: { kind: 'silent' },
  'expired token': answer(401, 'Unauthorized'),
};

/**
 * Selects the requests of one call that get a fault, by returning true. It is stateful, so each call needs
 * its own.
 */
export type Target = (request: ProxiedRequest) => boolean;

/** A fault, and the requests that get it. */
export interface Stroke {
  readonly kind: FaultKind;
  readonly where: string;
  readonly aim: () => Target;
}

export const isWatch = ({ url }: ProxiedRequest): boolean => url.includes('watch=');

/**
 * Selects each request at its first attempt; its retries pass. Requests of a wait are excluded: the awaited
 * change would come in the meantime, and there would be no watch.
 */
export function eachOnce(): Target {
  const met = new Set<string>();
  return (request) => {
    const what = `${request.method} ${request.url}`;
    if (request.url.includes('fieldSelector=') || isExec(request.url) || met.has(what)) return false;
    met.add(what);
    return true;
  };
}

/** Selects every watch. */
export const everyWatch = (): Target => isWatch;

/** Selects the write with that number, once. */
export function write(number: number): Target {
  let writes = 0;
  return (request) => isWrite(request) && (writes += 1) === number;
}

/** Selects the read with that number, once. Retries are counted, too. */
export function read(number: number): Target {
  let reads = 0;
  return (given) =>
    given.method === 'GET' && !isWatch(given) && !isExec(given.url) && (reads += 1) === number;
}

/** Selects the exec with that number, once. */
export function exec(number: number): Target {
  let execs = 0;
  return ({ url }) => isExec(url) && (execs += 1) === number;
}

/** Selects the request with that number, once. */
export const request =
  (number: number): Target =>
  (given) =>
    given.number === number;

/** Selects all requests after that many writes: an expired token stays expired. */
export function after(writes: number): Target {
  let seen = 0;
  return (given) => {
    const isAfter = seen >= writes;
    if (isWrite(given)) seen += 1;
    return isAfter;
  };
}

/**
 * Returns the function that decides the fate of a request under the strokes. `onHit` is called for each
 * applied stroke.
 */
export function decideBy(strokes: readonly Stroke[], onHit: (stroke: Stroke) => void) {
  const aimed = strokes.map((stroke) => ({ stroke, target: stroke.aim() }));
  return (given: ProxiedRequest): Fate => {
    const [hit] = aimed.filter(({ target }) => target(given));
    if (hit === undefined) return { kind: 'pass' };
    onHit(hit.stroke);
    return fates[hit.stroke.kind];
  };
}
