import type { Token } from './lexer.ts';
import type { MonitProgram } from './monit-service.ts';
import { splitArguments } from './split-arguments.ts';
import type { TokenReader } from './token-reader.ts';

// monit's default for start and stop programs (monit: src/monit.h, EXEC_TIMEOUT)
const defaultTimeoutSeconds = 30;

/**
 * Reads the text after `start`, `stop` or `exec`: `program "<path> <arguments>"`, then in any order `as uid X
 * and gid Y` and, except for exec, `with timeout N seconds`. Errors point at the token `keyword`.
 */
export function programAt(reader: TokenReader, keyword: Token): MonitProgram {
  reader.accept('=');
  const text = reader.takeText();
  if (text === undefined) throw reader.invalid(keyword, 'the program is not a double-quoted text');
  const [path, ...rest] = splitArguments(text.value) ?? [];
  if (path === undefined)
    throw reader.invalid(text, 'the program is empty or has a single quote without an end');
  if (!path.startsWith('/')) throw reader.invalid(text, `the program '${path}' is no absolute path`);
  const hasTimeout = !reader.is(keyword, 'exec', 'execute');
  return { arguments: [path, ...rest], ...optionsAt(reader, hasTimeout) };
}

function optionsAt(reader: TokenReader, hasTimeout: boolean): Omit<MonitProgram, 'arguments'> {
  let timeoutSeconds = defaultTimeoutSeconds;
  let user: string | undefined;
  let group: string | undefined;
  for (;;) {
    if (reader.accept('uid')) user = reader.value('a user');
    else if (reader.accept('gid')) group = reader.value('a group');
    else if (hasTimeout && reader.accept('timeout')) timeoutSeconds = secondsAt(reader);
    else return { timeoutSeconds, user, group };
  }
}

/** Reads the text after `timeout`: `N seconds`. */
export function secondsAt(reader: TokenReader): number {
  const token = reader.peek();
  const seconds = reader.takeNumber();
  if (seconds === undefined || !Number.isInteger(seconds) || seconds <= 0)
    throw reader.invalid(token, 'the timeout is no number of seconds');
  reader.accept('seconds', 'second');
  return seconds;
}
