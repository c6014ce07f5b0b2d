import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Profile, profileSettings } from '../build-settings.ts';

/** The inputs of a Debian root. Two equal requests with equal package lists give equal bytes. */
export interface RootRequest {
  readonly suite: string;
  /**
   * URLs or sources.list lines as mmdebstrap accepts them; empty: mmdebstrap's default, with security
   * updates.
   */
  readonly mirrors: readonly string[];
  /** Names of packages, sorted, without those that Debian requires. */
  readonly packages: readonly string[];
  /** Seconds since 1970: no file is younger. */
  readonly epoch: number;
}

/** Programs that the CPI's scripts, the embedded agent, an upstream agent and an operator on the VM call. */
const vmPackages = [
  ...['bash', 'ca-certificates', 'coreutils', 'curl', 'e2fsprogs', 'grep', 'gzip', 'hostname', 'iproute2'],
  ...['less', 'lsof', 'mount', 'netbase', 'openssh-server', 'passwd', 'procps', 'rsyslog', 'sudo', 'tar'],
  'util-linux',
];

/** Programs that scripts of published releases call, as they find them in a published stemcell. */
const releasePackages = [
  ...['bind9-dnsutils', 'bind9-host', 'bzip2', 'cpio', 'cron', 'ethtool', 'file', 'gettext-base'],
  ...['iputils-ping', 'kmod', 'libcap2-bin', 'locales', 'logrotate', 'lsb-release', 'net-tools'],
  ...['netcat-openbsd', 'openssl', 'perl', 'psmisc', 'python3', 'resolvconf', 'rsync', 'rsyslog-gnutls'],
  ...['rsyslog-openssl', 'rsyslog-relp', 'runit', 'unzip', 'uuid-runtime', 'wget', 'xfsprogs', 'xz-utils'],
  'zip',
];

/**
 * The libraries of the headers below, which compiled packages load when they run. An image without compilers
 * has them, too, for packages that were compiled with another image of the same operating system.
 * `~n^libaio1` is a pattern of apt: the package is called libaio1t64 in trixie.
 */
const libraryPackages = [
  ...['~n^libaio1', 'libbz2-1.0', 'libcurl4', 'libgcrypt20', 'libncurses6', 'libreadline8', 'libssl3'],
  ...['libxml2', 'libxslt1.1'],
];

/**
 * What packaging scripts compile with (bosh-linux-stemcell-builder: stages/base_ubuntu_build_essential and
 * base_ubuntu_packages, and bosh-stemcell/spec/assets/dpkg-list-ubuntu-noble.txt, with Debian's names).
 */
const compilerPackages = [
  ...['autoconf', 'automake', 'autopoint', 'bison', 'build-essential', 'clang', 'cmake', 'flex', 'gdb'],
  ...['gettext', 'libaio-dev', 'libbz2-dev', 'libcap-dev', 'libcurl4-openssl-dev', 'libgcrypt20-dev'],
  ...['libicu-dev', 'libncurses-dev', 'libreadline-dev', 'libssl-dev', 'libtirpc-dev', 'libtool'],
  ...['libxml2-dev', 'libxslt1-dev', 'pkg-config', 'uuid-dev', 'xxd', 'zlib1g-dev'],
];

export function rootRequest(options: {
  readonly suite: string;
  readonly profile: Profile;
  readonly hasCompilers: boolean;
  readonly mirrors: readonly string[];
  /** Names of more packages. */
  readonly include: readonly string[];
  readonly epoch: number;
}): RootRequest {
  const { suite, profile, hasCompilers, mirrors, include, epoch } = options;
  const packages = new Set([
    ...[...vmPackages, ...releasePackages, ...libraryPackages, ...(hasCompilers ? compilerPackages : [])],
    ...[...profileSettings(profile).packages, ...include],
  ]);
  return {
    suite,
    mirrors,
    packages: [...packages].toSorted(),
    epoch,
  };
}

const customizeScript = join(import.meta.dirname, 'customize.sh');

/** Documentation in all languages is a third of a small root. */
const excluded = [
  ...['/usr/share/doc/*', '/usr/share/info/*', '/usr/share/locale/*', '/usr/share/man/*'],
  '/usr/share/lintian/*',
];

/** Returns mmdebstrap's options. Suite, output and mirrors must follow, in that order. */
export function mmdebstrapOptions(request: RootRequest): readonly string[] {
  return [...optionsOf(request), `--customize-hook=${customizeScript}`];
}

/** Returns the options without that of the customize script, whose path differs in each checkout. */
function optionsOf({ packages }: RootRequest): readonly string[] {
  return [
    '--mode=root',
    '--variant=minbase',
    '--format=tar',
    // Every container has its own /dev.
    '--skip=output/dev',
    `--include=${packages.join(',')}`,
    ...excluded.map((path) => `--dpkgopt=path-exclude=${path}`),
    '--dpkgopt=path-include=/usr/share/doc/*/copyright',
  ];
}

/** Returns a key of everything that determines the content of a root, except the versions of its packages. */
export async function requestKey(request: RootRequest): Promise<string> {
  const script = await readFile(customizeScript, 'utf8');
  return createHash('sha256')
    .update(JSON.stringify([request, optionsOf(request), script, process.arch]))
    .digest('hex')
    .slice(0, 16);
}
