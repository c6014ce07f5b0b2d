import { ProductError } from '../../errors/product-error.ts';
import { tokenize } from './lexer.ts';
import type { Token } from './lexer.ts';
import type { MonitProcess, MonitProgram } from './monit-process.ts';
import { programAt } from './program-clause.ts';
import { TokenReader } from './token-reader.ts';

/**
 * Reads a job's monit file (monit 5.2.5's control file, as far as BOSH jobs need it): `check process <name> with
 * pidfile <path>` with `start program`, `stop program`, `group vcap` and `mode active`. Whatever else monit knows
 * (other checks, `depends on`, `if … then`, `every`, …) is AGENT_NOT_SUPPORTED with job, line and clause, and
 * what monit would not read either is AGENT_MONIT_INVALID: nothing is skipped.
 */
export function parseMonit(source: string, job: string): readonly MonitProcess[] {
  const tokens = tokenize(source);
  if ('cause' in tokens) {
    throw new ProductError(
      'AGENT_MONIT_INVALID',
      `job '${job}': monit line ${tokens.line}, column ${tokens.column}: ${tokens.cause}`,
    );
  }
  const reader = new TokenReader(tokens, source, job);
  const processes: MonitProcess[] = [];
  for (let token = reader.peek(); token !== undefined; token = reader.peek()) {
    const stanza = processAt(reader, token);
    if (processes.some((other) => other.name === stanza.name)) {
      throw reader.invalid(token, `process '${stanza.name}' is declared twice`);
    }
    processes.push(stanza);
  }
  return processes;
}

/** What the clauses of one stanza have said so far. */
interface Clauses {
  start: MonitProgram | undefined;
  stop: MonitProgram | undefined;
  isVcap: boolean;
}

function processAt(reader: TokenReader, first: Token): MonitProcess {
  if (!reader.take('check')) throw reader.unsupported(first);
  if (!reader.take('process')) throw reader.unsupported(first);
  const name = reader.value('the name of the process');
  if (!reader.take('pidfile')) throw reader.unsupported(first, `process '${name}' has no pidfile`);
  const pidFile = reader.value('the path of the pidfile');
  if (!pidFile.startsWith('/')) throw reader.invalid(first, `the pidfile '${pidFile}' is no absolute path`);
  const clauses: Clauses = { start: undefined, stop: undefined, isVcap: false };
  for (let token = reader.peek(); token !== undefined && !reader.is(token, 'check'); token = reader.peek()) {
    readClause(reader, token, clauses);
  }
  if (clauses.start === undefined) throw reader.invalid(first, `process '${name}' has no start program`);
  if (!clauses.isVcap)
    throw reader.invalid(first, `process '${name}' is not in group vcap: add 'group vcap'`);
  return { job: reader.job, name, pidFile, start: clauses.start, stop: clauses.stop };
}

function readClause(reader: TokenReader, token: Token, clauses: Clauses): void {
  if (reader.take('start')) {
    if (clauses.start !== undefined) throw reader.invalid(token, 'a second start program');
    clauses.start = programAt(reader, token);
  } else if (reader.take('stop')) {
    if (clauses.stop !== undefined) throw reader.invalid(token, 'a second stop program');
    clauses.stop = programAt(reader, token);
  } else if (reader.take('group')) {
    clauses.isVcap = reader.value('the name of a group') === 'vcap' || clauses.isVcap;
  } else if (reader.take('mode')) {
    if (!reader.take('active')) throw reader.unsupported(token);
  } else throw reader.unsupported(token);
}
