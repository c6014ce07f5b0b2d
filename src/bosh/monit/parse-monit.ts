import { ProductError } from '../../errors/product-error.ts';
import { tokenize } from './lexer.ts';
import type { Token } from './lexer.ts';
import type {
  MonitProgram,
  MonitRestartLimit,
  MonitRule,
  MonitService,
  MonitSubject,
} from './monit-service.ts';
import { programAt } from './program-clause.ts';
import type { CheckKind } from './rule-clause.ts';
import { ruleAt, valueAt } from './rule-clause.ts';
import { TokenReader } from './token-reader.ts';

const setStatements = new Set(
  'alert daemon logfile eventqueue idfile statefile pidfile mmonit mailserver mail-format httpd expectbuffer init fips'.split(
    ' ',
  ),
);
const unknownChecks = new Set(['device', 'filesystem', 'directory', 'fifo', 'status', 'system']);

/**
 * Parses a job's monit file: monit 5.2.5's control file as published releases use it (the table in
 * docs/agent.md). Throws AGENT_NOT_SUPPORTED, with job, line and clause, for anything that monit supports and
 * the agent does not, and AGENT_MONIT_INVALID for anything that monit would reject as well. Ignores only
 * `set` and `alert`, which are about monit itself and its mail.
 */
export function parseMonit(source: string, job: string): readonly MonitService[] {
  const tokens = tokenize(source);
  if ('cause' in tokens) {
    throw new ProductError(
      'AGENT_MONIT_INVALID',
      `job '${job}': monit line ${tokens.line}, column ${tokens.column}: ${tokens.cause}`,
    );
  }
  const reader = new TokenReader(tokens, source, job);
  const services: MonitService[] = [];
  for (let token = reader.peek(); token !== undefined; token = reader.peek()) {
    if (reader.accept('set')) skipSet(reader, token);
    else services.push(serviceAt(reader, token));
  }
  const stranded = services.find((service) => isStranded(service, services));
  if (stranded !== undefined)
    throw new ProductError(
      'AGENT_MONIT_INVALID',
      `job '${job}': monit line ${stranded.line}, column 1: process '${stranded.name}' has no start program, and no other check of the job has one that could start it`,
    );
  return services;
}

/** Returns true for a process with a pidfile that no start program can start. */
function isStranded({ subject, start }: MonitService, all: readonly MonitService[]): boolean {
  return subject.kind === 'pidfile' && start === undefined && all.every((other) => other.start === undefined);
}

const startsStatement = (reader: TokenReader, token: Token | undefined): boolean =>
  token === undefined || reader.is(token, 'check', 'set', 'include');

function skipSet(reader: TokenReader, start: Token): void {
  const what = reader.peek();
  if (what?.kind !== 'word' || !setStatements.has(what.value.toLowerCase()))
    throw reader.invalid(start, 'unknown setting');
  do reader.skip();
  while (!startsStatement(reader, reader.peek()));
}

/** The clauses of one check that have been read so far. */
interface Clauses {
  start: MonitProgram | undefined;
  stop: MonitProgram | undefined;
  mode: MonitService['mode'];
  every: number;
  readonly groups: string[];
  readonly dependsOn: string[];
  readonly rules: MonitRule[];
  readonly restartLimits: MonitRestartLimit[];
}

function serviceAt(reader: TokenReader, first: Token): MonitService {
  if (!reader.accept('check')) throw reader.unsupported(first);
  const { name, kind, subject } = subjectAt(reader, first);
  const address = subject.kind === 'host' ? subject.address : 'localhost';
  const clauses: Clauses = {
    ...{ start: undefined, stop: undefined, mode: 'active', every: 1 },
    ...{ groups: [], dependsOn: [], rules: [], restartLimits: [] },
  };
  for (let token = reader.peek(); token !== undefined; token = reader.peek()) {
    if (startsStatement(reader, token)) break;
    readClause(reader, token, { clauses, kind, address });
  }
  if (!clauses.groups.some((group) => group.toLowerCase() === 'vcap'))
    throw reader.invalid(first, `'${name}' is not in group vcap: add 'group vcap'`);
  return { job: reader.job, name, line: first.line, subject, ...clauses };
}

interface Subject {
  readonly name: string;
  readonly kind: CheckKind;
  readonly subject: MonitSubject;
}

function subjectAt(reader: TokenReader, first: Token): Subject {
  const kind = kindAt(reader, first);
  const name = nameAt(reader, kind);
  if (kind === 'file') {
    reader.expect('path');
    return { name, kind, subject: { kind: 'file', path: pathAt(reader, 'the path of the file') } };
  }
  if (kind === 'host') {
    reader.expect('address');
    return { name, kind, subject: { kind: 'host', address: valueAt(reader, 'the address of the host') } };
  }
  if (reader.accept('matching', 'match')) {
    const token = reader.peek();
    const pattern = valueAt(reader, 'the pattern');
    if (!isPattern(pattern))
      throw reader.unsupported(token ?? first, `the pattern '${pattern}' cannot be used`);
    return { name, kind, subject: { kind: 'matching', pattern } };
  }
  if (!reader.accept('pidfile', 'path'))
    throw reader.invalid(first, `process '${name}' has neither a pidfile nor a pattern to match`);
  return { name, kind, subject: { kind: 'pidfile', path: pathAt(reader, 'the path of the pidfile') } };
}

function kindAt(reader: TokenReader, first: Token): CheckKind {
  const token = reader.peekRaw();
  const word = token?.kind === 'word' ? token.value.toLowerCase() : '';
  if (unknownChecks.has(word)) throw reader.unsupported(first);
  // monit also reads `check NAME` as a check of a process.
  if (word !== 'process' && word !== 'file' && word !== 'host') return 'process';
  reader.skip();
  return word;
}

function nameAt(reader: TokenReader, kind: CheckKind): string {
  const token = reader.peekRaw();
  const name = reader.value(`the name of the ${kind}`);
  if (name.startsWith('/')) throw reader.invalid(token, `the name '${name}' begins with '/'`);
  return name;
}

function pathAt(reader: TokenReader, what: string): string {
  const token = reader.peek();
  const path = valueAt(reader, what);
  if (!path.startsWith('/')) throw reader.invalid(token, `${what} must be an absolute path, not '${path}'`);
  return path;
}

/** Returns true if POSIX and JavaScript interpret the pattern alike. */
function isPattern(pattern: string): boolean {
  if (/\[\[?[:.=]|\(\?|\\[a-zA-Z0-9]/.test(pattern)) return false;
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
}

function readClause(
  reader: TokenReader,
  token: Token,
  {
    clauses,
    kind,
    address,
  }: { readonly clauses: Clauses; readonly kind: CheckKind; readonly address: string },
): void {
  if (reader.is(token, 'if')) {
    const { rule, limit } = ruleAt(reader, token, kind, address);
    if (rule === undefined) clauses.restartLimits.push(limit);
    else clauses.rules.push(rule);
  } else if (reader.accept('start')) {
    if (clauses.start !== undefined) throw reader.invalid(token, 'a second start program');
    clauses.start = programAt(reader, token);
  } else if (reader.accept('stop')) {
    if (clauses.stop !== undefined) throw reader.invalid(token, 'a second stop program');
    clauses.stop = programAt(reader, token);
  } else if (reader.accept('group')) clauses.groups.push(reader.value('the name of a group'));
  else if (reader.accept('depends', 'depend')) clauses.dependsOn.push(...namesAt(reader));
  else if (reader.accept('mode')) clauses.mode = modeAt(reader, token);
  else if (reader.accept('every')) {
    clauses.every = reader.wholeNumber('the number of cycles', 2);
    reader.expect('cycles', 'cycle');
  } else if (reader.accept('alert', 'noalert')) skipAlert(reader);
  else throw reader.unsupported(token);
}

/**
 * Reads `on a, b`. A service may have a noise word as its name, so only an `on` at this position is skipped.
 */
function namesAt(reader: TokenReader): readonly string[] {
  if (reader.is(reader.peekRaw(), 'on')) reader.skip();
  const names = [reader.value('the name of a service')];
  while (reader.peekRaw()?.afterComma === true) names.push(reader.value('the name of a service'));
  return names;
}

function modeAt(reader: TokenReader, token: Token): MonitService['mode'] {
  for (const mode of ['active', 'passive', 'manual'] as const) if (reader.accept(mode)) return mode;
  throw reader.invalid(token, 'the mode is neither active, passive nor manual');
}

/** Skips `a@b [but not] on { events } [with mail-format {…}] [with reminder on 5 cycles]`. */
function skipAlert(reader: TokenReader): void {
  valueAt(reader, 'the mail address');
  if (reader.takeMark('@')) reader.value("the mail address's host");
  reader.accept('not');
  if (reader.takeMark('{')) {
    for (let token = reader.peek(); token !== undefined && !reader.takeMark('}'); token = reader.peek())
      reader.skip();
  }
  reader.accept('mail-format');
  if (!reader.accept('reminder')) return;
  reader.wholeNumber('the number of cycles', 1);
  reader.accept('cycles', 'cycle');
}
