import { parseArgs } from 'node:util';
import { parseVariable } from '../bosh/variables/parse-variable.ts';
import { ProductError } from '../errors/product-error.ts';

/** The flags of `bosh create-env` and `delete-env` that matter here, parsed. */
export interface EnvArguments {
  readonly manifestPath: string;
  readonly statePath?: string;
  readonly varsStorePath?: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly variableFiles: Readonly<Record<string, string>>;
  readonly varsFiles: readonly string[];
  readonly opsFiles: readonly string[];
  readonly recreate: boolean;
  readonly skipDrain: boolean;
  readonly force: boolean;
}

/** One usage line for all commands that take these flags. */
export const envUsage =
  'MANIFEST [--state FILE] [--vars-store FILE] [-v NAME=VALUE] [--var-file NAME=FILE] [-l FILE] [-o OPS] [--skip-drain]';

const options = {
  state: { type: 'string' },
  'vars-store': { type: 'string' },
  var: { type: 'string', short: 'v', multiple: true },
  'var-file': { type: 'string', multiple: true },
  'vars-file': { type: 'string', short: 'l', multiple: true },
  'ops-file': { type: 'string', short: 'o', multiple: true },
  recreate: { type: 'boolean' },
  'skip-drain': { type: 'boolean' },
  force: { type: 'boolean', short: 'f' },
} as const;

/** Rejects an unknown flag or a missing manifest with INVALID_ARGUMENT, which names it. */
export function parseEnvArguments(words: readonly string[]): EnvArguments {
  const { values, positionals } = parseWords(words);
  const [manifestPath, extra] = positionals;
  if (manifestPath === undefined)
    throw new ProductError('INVALID_ARGUMENT', `A manifest is missing. Usage: ${envUsage}`);
  if (extra !== undefined)
    throw new ProductError('INVALID_ARGUMENT', `'${extra}' is one manifest too many. Usage: ${envUsage}`);
  return {
    manifestPath,
    ...(values.state === undefined ? {} : { statePath: values.state }),
    ...(values['vars-store'] === undefined ? {} : { varsStorePath: values['vars-store'] }),
    variables: Object.fromEntries(
      pairs('-v', values.var ?? []).map(([name, text]) => [name, parseVariable(name, text)]),
    ),
    variableFiles: Object.fromEntries(pairs('--var-file', values['var-file'] ?? [])),
    varsFiles: values['vars-file'] ?? [],
    opsFiles: values['ops-file'] ?? [],
    recreate: values.recreate === true,
    skipDrain: values['skip-drain'] === true,
    force: values.force === true,
  };
}

function parseWords(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ProductError('INVALID_ARGUMENT', `${firstSentence(error.message)}. Usage: ${envUsage}`);
  }
}

/** What node adds is advice to write `--` before the word. */
export function firstSentence(message: string): string {
  return message.split('. ')[0] ?? message;
}

function pairs(flag: string, texts: readonly string[]): [string, string][] {
  return texts.map((text) => {
    const split = text.indexOf('=');
    if (split > 0) return [text.slice(0, split), text.slice(split + 1)];
    throw new ProductError('INVALID_ARGUMENT', `${flag} wants NAME=VALUE`);
  });
}
