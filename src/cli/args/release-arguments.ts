import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CreateReleaseOptions, CreateReleasePorts } from '../../bosh/release/create-release.ts';
import { readGitState } from '../../bosh/release/git-state.ts';
import { parseReleaseVersion } from '../../bosh/release/release-version.ts';
import { ProductError } from '../../errors/product-error.ts';
import { parsePathSegment, segmentProblem, type PathSegment } from '../../platform/path-segment.ts';
import type { CommandContext } from '../command.ts';
import { expandHome, invalidArguments, parseCommandLine } from './parse-command-line.ts';

const options = {
  dir: { type: 'string' },
  name: { type: 'string' },
  version: { type: 'string' },
  'timestamp-version': { type: 'boolean' },
  final: { type: 'boolean' },
  force: { type: 'boolean' },
  tarball: { type: 'string' },
  url: { type: 'string' },
  // Has no effect: digests are always SHA-256.
  sha2: { type: 'boolean' },
  'non-interactive': { type: 'boolean', short: 'n' },
  tty: { type: 'boolean' },
} as const;

type Flag = keyof typeof options;

export interface ReleaseArguments extends CreateReleaseOptions {
  readonly url?: string;
  readonly positionals: readonly string[];
}

/**
 * Throws INVALID_ARGUMENT for a flag that is unknown or not in `allowedFlags`, and for an invalid version or
 * name.
 */
export function parseReleaseArguments(
  args: readonly string[],
  { usage, allowedFlags }: { readonly usage: string; readonly allowedFlags: readonly Flag[] },
): ReleaseArguments {
  const invalid = invalidArguments(usage);
  const { values, positionals } = parseCommandLine(args, options, invalid);
  const allowed: readonly string[] = [...allowedFlags, 'sha2', 'non-interactive', 'tty'];
  const unsupported = Object.keys(values).find((flag) => !allowed.includes(flag));
  if (unsupported !== undefined) throw invalid(`This command does not accept --${unsupported}`);
  const { version, name, tarball, url } = values;
  if (version !== undefined && parseReleaseVersion(version) === undefined)
    throw invalid('--version needs a version such as 1.0.0, 1.0-beta.2 or 10+dev.1');
  return {
    directory: resolve(expandHome(values.dir ?? '.')),
    ...(name === undefined ? {} : { name: segment('--name', name) }),
    ...(version === undefined ? {} : { version: segment('--version', version) }),
    timestampVersion: values['timestamp-version'] === true,
    final: values.final === true,
    force: values.force === true,
    ...(tarball === undefined ? {} : { tarball: resolve(expandHome(tarball)) }),
    ...(url === undefined ? {} : { url }),
    positionals,
  };
}

function segment(flag: string, text: string): PathSegment {
  const parsed = parsePathSegment(text);
  if (parsed === undefined) throw new ProductError('INVALID_ARGUMENT', `${flag}: ${segmentProblem(text)}`);
  return parsed;
}

/**
 * Returns the dependencies of the release commands. Archives of release parts are shared with the bosh CLI,
 * in ~/.bosh/cache.
 */
export function releasePorts({
  environment,
  terminal,
  signal,
}: Pick<CommandContext, 'environment' | 'terminal' | 'signal'>): CreateReleasePorts {
  return {
    cacheDirectory: join(environment['HOME'] || homedir(), '.bosh', 'cache'),
    readGit: readGitState,
    newId: () => randomUUID(),
    now: () => Math.floor(Date.now() / 1000),
    notice: (line) => terminal.error(line),
    signal,
  };
}
