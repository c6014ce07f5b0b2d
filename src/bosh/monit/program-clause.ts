import type { Token } from './lexer.ts';
import type { MonitProgram } from './monit-service.ts';
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
  if (text === undefined) throw reader.invalid(keyword, 'the program must be a double-quoted text');
  const [path, ...rest] = splitArguments(text.value) ?? [];
  if (path === undefined)
    throw reader.invalid(text, 'the program is empty or has an unterminated single quote');
  if (!path.startsWith('/')) throw reader.invalid(text, `the path of the program '${path}' must be absolute`);
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
    throw reader.invalid(token, 'the timeout must be a number of seconds');
  reader.accept('seconds', 'second');
  return seconds;
}

/**
 * Splits the text of a `start program "…"` into arguments by monit's rules (monit: src/l.l, ARGUMENT_COND),
 * not by a shell's. White space separates arguments. A single-quoted part is one argument without its quotes.
 * If a bare word at the same position is longer (`'a'b`), the word is used, including its quotes. Nothing is
 * expanded. Returns undefined for an unmatched single quote at the beginning of an argument.
 */
export function splitArguments(text: string): readonly string[] | undefined {
  const parts: string[] = [];
  let index = 0;
  while (index < text.length) {
    const rest = text.slice(index);
    const blank = /^[ \t\r\n]+/.exec(rest);
    if (blank !== null) {
      index += blank[0].length;
      continue;
    }
    const quoted = /^'([^']*)'/.exec(rest);
    const word = /^[^ \t\r\n"]+/.exec(rest)?.[0] ?? '';
    if (quoted !== null && quoted[0].length >= word.length) {
      parts.push(quoted[1] ?? '');
      index += quoted[0].length;
      continue;
    }
    if (word === "'" || word === '') return undefined;
    parts.push(word);
    index += word.length;
  }
  return parts;
}
