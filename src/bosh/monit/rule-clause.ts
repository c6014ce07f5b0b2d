import type { Token } from './lexer.ts';
import type {
  MonitAction,
  MonitOperator,
  MonitRate,
  MonitRestartLimit,
  MonitRule,
  MonitTest,
} from './monit-service.ts';
import { monitResources } from './monit-service.ts';
import { programAt, secondsAt } from './program-clause.ts';
import type { TokenReader } from './token-reader.ts';

// monit: src/monitor.h, NET_TIMEOUT and BITMAP_MAX
const defaultNetSeconds = 5;
const maxCycles = 64;
const maxLimit = 2 ** 31 - 1;

export type CheckKind = 'process' | 'file' | 'host';

/** The content of an `if`. */
export type RuleClause =
  | { readonly rule: MonitRule; readonly limit?: undefined }
  | { readonly limit: MonitRestartLimit; readonly rule?: undefined };

/**
 * Reads an `if` of a check of this kind. `start` is the token of the `if`, for errors. `address` is the
 * default host of connections.
 */
export function ruleAt(reader: TokenReader, start: Token, kind: CheckKind, address: string): RuleClause {
  reader.expect('if');
  const first = reader.peek();
  if (first !== undefined && /^[0-9]+$/.test(first.value)) return { limit: restartLimitAt(reader) };
  const test = testAt(reader, start, kind, address);
  const rate = rateAt(reader);
  reader.expect('then');
  const action = actionAt(reader);
  return { rule: { test, rate, action, recovery: recoveryAt(reader, test) } };
}

function restartLimitAt(reader: TokenReader): MonitRestartLimit {
  const restarts = reader.wholeNumber('the number of restarts', 1);
  reader.expect('restarts', 'restart');
  const cycles = reader.wholeNumber('the number of cycles', 1);
  reader.expect('cycles', 'cycle');
  reader.expect('then');
  const action: MonitAction = reader.accept('timeout') ? { kind: 'unmonitor' } : actionAt(reader);
  return { restarts, cycles, action };
}

function testAt(reader: TokenReader, start: Token, kind: CheckKind, address: string): MonitTest {
  if (reader.accept('failed')) {
    if (kind === 'file') throw reader.unsupported(start);
    return connectionAt(reader, start, kind, address);
  }
  if (reader.accept('not')) {
    if (!reader.accept('exist') || kind === 'host') throw reader.unsupported(start);
    return { kind: 'nonexistent' };
  }
  if (reader.accept('changed')) return changeAt(reader, start, kind);
  if (kind !== 'process') throw reader.unsupported(start);
  return resourceAt(reader, start);
}

function connectionAt(reader: TokenReader, start: Token, kind: CheckKind, address: string): MonitTest {
  let target: Extract<MonitTest, { kind: 'connection' }>['target'];
  if (kind === 'process' && reader.accept('unixsocket', 'unix')) {
    const token = reader.peek();
    const path = reader.value('the path of the socket');
    if (!path.startsWith('/'))
      throw reader.invalid(token, `the path of the socket '${path}' must be absolute`);
    target = { path };
  } else {
    const host = reader.accept('host') ? valueAt(reader, 'the name of the host') : address;
    if (!reader.accept('port', 'portnumber')) throw reader.unsupported(start);
    target = { host, port: reader.wholeNumber('the port', 1, 65_535) };
  }
  if (reader.accept('type') && !reader.accept('tcp')) throw reader.unsupported(start);
  const request = requestAt(reader, start);
  const timeoutSeconds = reader.accept('timeout') ? secondsAt(reader) : defaultNetSeconds;
  return { kind: 'connection', target, request, timeoutSeconds };
}

function requestAt(reader: TokenReader, start: Token): string | undefined {
  if (reader.is(reader.peek(), 'send', 'expect')) throw reader.unsupported(start);
  if (!reader.accept('protocol', 'proto') || reader.accept('default')) return undefined;
  if (!reader.accept('http')) throw reader.unsupported(start);
  if (!reader.accept('request')) return '/';
  const token = reader.peek();
  const path = valueAt(reader, 'the path of the request');
  if (!/^\/[!-~]*$/.test(path))
    throw reader.invalid(token, `the request '${path}' must be a path of printable characters`);
  if (reader.is(reader.peek(), 'hostheader', 'checksum')) throw reader.unsupported(start);
  return path;
}

function changeAt(reader: TokenReader, start: Token, kind: CheckKind): MonitTest {
  if (kind === 'process') {
    if (reader.accept('pid')) return { kind: 'changed', what: 'pid' };
    if (reader.accept('ppid')) return { kind: 'changed', what: 'ppid' };
  }
  if (kind === 'file') {
    if (reader.accept('timestamp')) return { kind: 'changed', what: 'timestamp' };
    // The kind of digest does not matter for detecting a change.
    reader.accept('md5', 'sha1');
    if (reader.accept('checksum')) return { kind: 'changed', what: 'checksum' };
  }
  throw reader.unsupported(start);
}

const resourceNames: ReadonlyMap<string, string> = new Map([
  ['memory', 'mem'],
  ['totalmemory', 'totalmem'],
  ['loadavg', 'loadavg(1min)'],
]);

const kilobytes: ReadonlyMap<string, number> = new Map([
  ...['byte', 'b'].map((name) => [name, 1 / 1024] as const),
  ...['kilobyte', 'kb'].map((name) => [name, 1] as const),
  ...['megabyte', 'mb'].map((name) => [name, 1024] as const),
  ...['gigabyte', 'gb'].map((name) => [name, 1024 * 1024] as const),
]);

function resourceAt(reader: TokenReader, start: Token): MonitTest {
  const word = reader.peek()?.value.toLowerCase() ?? '';
  const name = resourceNames.get(word) ?? word;
  const resource = monitResources.find((known) => known === name);
  if (resource === undefined) throw reader.unsupported(start);
  reader.skip();
  const operator = operatorAt(reader);
  const at = reader.peek();
  const number = reader.takeNumber();
  if (number === undefined) throw reader.invalid(at, `the limit of ${resource} must be a number`);
  const { limit, unit } = limitAt(reader, number, resource);
  if (limit > maxLimit) throw reader.invalid(at, `the limit of ${resource} is too large`);
  const needed = resource.includes('cpu') ? '%' : resource.includes('mem') ? undefined : '';
  if (needed !== undefined && unit !== needed)
    throw reader.invalid(
      at,
      `the limit of ${resource} is ${needed === '%' ? 'in percent' : 'a plain number'}`,
    );
  if (!Number.isInteger(number) && (unit === '%' || resource === 'children'))
    throw reader.invalid(at, `the limit of ${resource} must be a whole number`);
  return { kind: 'resource', resource, operator, limit, unit };
}

function limitAt(
  reader: TokenReader,
  number: number,
  resource: string,
): { readonly limit: number; readonly unit: 'kB' | '%' | '' } {
  if (reader.takeMark('%') || reader.accept('percent')) return { limit: number, unit: '%' };
  // monit keeps one decimal of a load average.
  if (!resource.includes('mem')) return { limit: Math.floor(number * 10) / 10, unit: '' };
  const word = reader.peek()?.value.toLowerCase() ?? '';
  const factor = kilobytes.get(word);
  if (factor !== undefined) reader.skip();
  return { limit: Math.floor(number * (factor ?? 1 / 1024)), unit: 'kB' };
}

const operators: ReadonlyMap<string, MonitOperator> = new Map([
  ...['>', 'gt', 'greater'].map((word) => [word, '>'] as const),
  ...['<', 'lt', 'less'].map((word) => [word, '<'] as const),
  ...['=', '==', 'eq', 'equal'].map((word) => [word, '='] as const),
  ...['!=', 'ne', 'notequal', 'changed'].map((word) => [word, '!='] as const),
]);

function operatorAt(reader: TokenReader): MonitOperator {
  const operator = operators.get(reader.peek()?.value.toLowerCase() ?? '');
  if (operator === undefined) return '=';
  reader.skip();
  return operator;
}

/** Reads `for 3 cycles`, `2 times within 5 cycles`, or nothing. */
function rateAt(reader: TokenReader): MonitRate {
  const token = reader.peek();
  if (token === undefined || !/^[0-9]/.test(token.value)) return { count: 1, cycles: 1 };
  const count = reader.wholeNumber('the number of cycles', 1, maxCycles);
  const cycles = reader.is(reader.peek(), 'cycle', 'cycles')
    ? count
    : reader.wholeNumber('the number of cycles', 1, maxCycles);
  reader.expect('cycles', 'cycle');
  if (count > cycles) throw reader.invalid(token, `${count} times do not fit into ${cycles} cycles`);
  return { count, cycles };
}

function recoveryAt(reader: TokenReader, test: MonitTest): MonitRule['recovery'] {
  const token = reader.peek();
  if (!reader.accept('else')) return undefined;
  if (test.kind === 'changed')
    throw reader.invalid(token, 'a test for a change cannot have a recovery action');
  reader.expect('if');
  reader.expect('recovered', 'passed', 'succeeded');
  const rate = rateAt(reader);
  reader.expect('then');
  return { rate, action: actionAt(reader) };
}

function actionAt(reader: TokenReader): MonitAction {
  const token = reader.peek();
  if (token !== undefined && reader.accept('exec', 'execute'))
    return { kind: 'exec', program: programAt(reader, token) };
  if (reader.accept('alert')) return { kind: 'alert' };
  if (reader.accept('restart', 'restarts')) return { kind: 'restart' };
  if (reader.accept('start')) return { kind: 'start' };
  if (reader.accept('stop')) return { kind: 'stop' };
  if (reader.accept('unmonitor')) return { kind: 'unmonitor' };
  throw reader.invalid(token, 'an action is missing: alert, restart, start, stop, exec or unmonitor');
}

/** Reads a value and skips noise words before it. */
export function valueAt(reader: TokenReader, what: string): string {
  reader.peek();
  return reader.value(what);
}
