import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Profile } from '../profile.ts';
import { profileSettings } from '../profile.ts';

/** What a Debian root is made from. Two equal ones with an equal package list are equal bytes. */
export interface RootRequest {
  readonly suite: string;
  /** URLs or sources.list lines as mmdebstrap takes them; empty: its own choice, with security updates. */
  readonly mirrors: readonly string[];
  /** Packages by name, sorted, beside those that are required in Debian. */
  readonly packages: readonly string[];
  /** Seconds since 1970: no file is younger. */
  readonly epoch: number;
}

/** What the CPI's scripts, our agent, an upstream agent and an operator on the VM call. */
const basePackages = [
  ...[
    'bash',
    'ca-certificates',
    'coreutils',
    'curl',
    'e2fsprogs',
    'grep',
    'gzip',
    'hostname',
    'iproute2',
    'less',
  ],
  ...['lsof', 'mount', 'netbase', 'openssh-server', 'passwd', 'procps', 'rsyslog', 'sudo', 'tar'],
  'util-linux',
];

export function rootRequest(options: {
  readonly suite: string;
  readonly profile: Profile;
  readonly mirrors: readonly string[];
  /** More packages, by name. */
  readonly include: readonly string[];
  readonly epoch: number;
}): RootRequest {
  const { suite, profile, mirrors, include, epoch } = options;
  const packages = new Set([...basePackages, ...profileSettings(profile).packages, ...include]);
  return {
    suite,
    mirrors,
    packages: [...packages].toSorted(),
    epoch,
  };
}

const customizeScript = join(import.meta.dirname, 'customize.sh');

/** Documentation in every language is a third of a small root. */
const excluded = [
  ...['/usr/share/doc/*', '/usr/share/info/*', '/usr/share/locale/*', '/usr/share/man/*'],
  '/usr/share/lintian/*',
];

/** mmdebstrap's arguments, but for suite, output and mirrors, which come last, in that order. */
export function mmdebstrapOptions(request: RootRequest): readonly string[] {
  return [...optionsOf(request), `--customize-hook=${customizeScript}`];
}

/** Without the script's, which is somewhere else in each checkout. */
function optionsOf({ packages }: RootRequest): readonly string[] {
  return [
    '--mode=root',
    '--variant=minbase',
    '--format=tar',
    // every container has a /dev of its own
    '--skip=output/dev',
    `--include=${packages.join(',')}`,
    ...excluded.map((path) => `--dpkgopt=path-exclude=${path}`),
    '--dpkgopt=path-include=/usr/share/doc/*/copyright',
  ];
}

/** Names all that decides what a root holds, but for the versions of its packages. */
export async function requestKey(request: RootRequest): Promise<string> {
  const script = await readFile(customizeScript, 'utf8');
  return createHash('sha256')
    .update(JSON.stringify([request, optionsOf(request), script, process.arch]))
    .digest('hex')
    .slice(0, 16);
}
