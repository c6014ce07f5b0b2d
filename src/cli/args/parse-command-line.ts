import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { similar } from '../../platform/nearest.ts';
import { type FlagValue, placeholderOf } from './flags.ts';

/** Returns the error for arguments that a command rejects, from a problem without a full stop. */
export type InvalidArguments = (problem: string) => ProductError;

/** Returns a function for INVALID_ARGUMENT errors that show the usage of one command. */
export function invalidArguments(usage: string): InvalidArguments {
  return (problem) => new ProductError('INVALID_ARGUMENT', `${problem}. Usage: ${usage}; --help explains it`);
}

/**
 * Parses flags and positional arguments. Throws the error of `invalid` for an unknown flag or a wrong value.
 */
export function parseCommandLine<T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: T,
  invalid: InvalidArguments,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const problem = firstSentence(error.message);
    throw invalid(
      missingValue(problem, options) ?? `${problem}${similarFlag(problem, Object.keys(options))}`,
    );
  }
}

/** Like parseCommandLine, for a command that has only flags. */
export function parseFlags<T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: T,
  invalid: InvalidArguments,
) {
  const { values, positionals } = parseCommandLine(args, options, invalid);
  const [extra] = positionals;
  if (extra !== undefined) throw invalid(`Unexpected argument '${extra}'`);
  return values;
}

/**
 * Describes a flag without its value, with an example; undefined if Node's message is about something else.
 */
function missingValue(message: string, flags: Readonly<Record<string, FlagValue>>): string | undefined {
  const [, short, name = ''] = /^Option '(?:(-.), )?--([^ ]+) <value>' argument missing/u.exec(message) ?? [];
  const flag = flags[name];
  if (flag === undefined) return undefined;
  const word = short ?? `--${name}`;
  return `'${word}' needs a value, as in ${word} ${placeholderOf(flag)}`;
}

/** Names the flag that is most similar to the unknown one in Node's message. */
function similarFlag(message: string, names: readonly string[]): string {
  const [, unknown] = /^Unknown option '(--[^']*)'/u.exec(message) ?? [];
  return unknown === undefined
    ? ''
    : similar(
        unknown,
        names.map((name) => `--${name}`),
      );
}

/** Removes what Node appends to the message: the advice to write `--` before the argument. */
function firstSentence(message: string): string {
  return message.split('. ')[0] ?? message;
}

/**
 * Expands `~` and `~/x` to paths in the home directory, for flags such as `--state=~/x` that no shell
 * expands.
 */
export function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}
