import type { Token } from './lexer.ts';
import type { MonitProgram } from './monit-process.ts';
import { splitArguments } from './split-arguments.ts';
import type { TokenReader } from './token-reader.ts';

// monit's default for start and stop programs (monit: src/monit.h, EXEC_TIMEOUT)
const defaultTimeoutSeconds = 30;

/**
 * Reads what follows `start` or `stop`: `program "<path> <arguments>"`, then in any order `as uid X and gid Y` and
 * `with timeout N seconds`. `keyword` is the token that errors point at.
 */
export function programAt(reader: TokenReader, keyword: Token): MonitProgram {
  reader.take('=');
  const text = reader.takeText();
  if (text === undefined) throw reader.invalid(keyword, 'the program is not a double-quoted text');
  const [path, ...rest] = splitArguments(text.value) ?? [];
  if (path === undefined)
    throw reader.invalid(text, 'the program is empty or has a single quote without an end');
  if (!path.startsWith('/')) throw reader.invalid(text, `the program '${path}' is no absolute path`);
  return { arguments: [path, ...rest], ...optionsAt(reader) };
}

function optionsAt(reader: TokenReader): Omit<MonitProgram, 'arguments'> {
  let timeoutSeconds = defaultTimeoutSeconds;
  let user: string | undefined;
  let group: string | undefined;
  for (;;) {
    if (reader.take('uid')) user = reader.value('a user');
    else if (reader.take('gid')) group = reader.value('a group');
    else if (reader.take('timeout')) timeoutSeconds = secondsAt(reader);
    else return { timeoutSeconds, user, group };
  }
}

function secondsAt(reader: TokenReader): number {
  const token = reader.peek();
  const seconds = Number(reader.value('the seconds of a timeout'));
  if (!Number.isInteger(seconds) || seconds <= 0)
    throw reader.invalid(token, 'the timeout is no number of seconds');
  if (!reader.take('seconds')) reader.take('second');
  return seconds;
}
