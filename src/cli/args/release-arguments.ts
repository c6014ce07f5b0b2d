import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CreateReleaseOptions, CreateReleasePorts } from '../../bosh/release/create-release.ts';
import { readGitState } from '../../bosh/release/git-state.ts';
import { parseReleaseVersion } from '../../bosh/release/release-version.ts';
import { ProductError } from '../../errors/product-error.ts';
import { parsePathSegment, segmentProblem, type PathSegment } from '../../platform/path-segment.ts';
import type { CommandContext } from '../command.ts';
import { pickFlags, type Flags } from './flags.ts';
import { expandHome, invalidArguments, parseCommandLine } from './parse-command-line.ts';

const options = {
  dir: { type: 'string', value: 'DIRECTORY', help: 'The release directory (default: the current one)' },
  name: { type: 'string', value: 'NAME', help: 'Default: the name in config/final.yml' },
  version: { type: 'string', value: 'VERSION', help: 'Default: the version after the last one' },
  'timestamp-version': { type: 'boolean', help: 'A dev version with the time instead of a counter' },
  final: { type: 'boolean', help: 'Make a final version, and write to the blobstore' },
  force: { type: 'boolean', help: 'Accept changes that are not committed' },
  tarball: { type: 'string', value: 'FILE', help: 'Also write the archive to this path' },
  url: { type: 'string', value: 'URL', help: 'Where a director downloads the archive' },
  sha2: { type: 'boolean', help: 'Has no effect: digests are always SHA-256' },
  'non-interactive': { type: 'boolean', short: 'n', help: 'Has no effect, because the command asks nothing' },
  tty: { type: 'boolean', help: 'Has no effect; it is a flag of the bosh CLI' },
} as const;

export type ReleaseFlag = keyof typeof options;

const commonFlags: readonly ReleaseFlag[] = ['sha2', 'non-interactive', 'tty'];

/** The flags of a release command. */
export const releaseFlags = (own: readonly ReleaseFlag[]): Flags =>
  pickFlags(options, [...own, ...commonFlags]);

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
  { usage, allowedFlags }: { readonly usage: string; readonly allowedFlags: readonly ReleaseFlag[] },
): ReleaseArguments {
  const invalid = invalidArguments(usage);
  const { values, positionals } = parseCommandLine(args, options, invalid);
  const allowed: readonly string[] = [...allowedFlags, ...commonFlags];
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
