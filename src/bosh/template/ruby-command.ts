import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface RubyCommand {
  readonly engine: 'ruby' | 'ruby.wasm';
  /** The executable that errors name. */
  readonly name: string;
  readonly executable: string;
  readonly arguments: readonly string[];
  /**
   * Milliseconds until it must be ready to render. If absent, there is no limit; this is for the engine that
   * we ship.
   */
  readonly startTimeoutMs?: number;
}

/** A command with the paths and limits that it needs. */
interface UnconfinedCommand extends RubyCommand {
  /** Paths that it can read, besides the system's programs and libraries. */
  readonly readablePaths: readonly string[];
  /** Options of prlimit(1). */
  readonly limits: readonly string[];
}

/** The limits of a renderer (docs/decisions/0005). */
const memoryBytes = 1024 ** 3;
const cpuSeconds = 600;

/** The folder with the bundle of ruby-wasm.ts and its Ruby. `root` is the folder of this package. */
export const rubyDirectory = (root: string): string => join(root, 'dist', 'ruby');

const moduleDirectory = fileURLToPath(new URL('.', import.meta.url));
const script = join(moduleDirectory, 'renderer.rb');
const disabledFeatures = '--disable=gems,did_you_mean,error_highlight,syntax_suggest,rubyopt';

/**
 * keyctl(KEYCTL_JOIN_SESSION_KEYRING): uses a new key ring instead of the operator's. Supports only x86_64
 * and aarch64.
 */
const ownKeyring = `
begin
  syscall({ "x86_64" => 250, "aarch64" => 219 }.fetch(RUBY_PLATFORM[/\\A[^-]+/]), 1, 0)
rescue SystemCallError
  # a kernel without keys
end
`;

/** The whole environment of a renderer. The operator's environment contains secrets. */
export const rubyEnvironment = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/tmp',
  LC_ALL: 'C.UTF-8',
} as const;

/**
 * Returns the command of a ruby on this machine; `path` has no symbolic links. For a ruby outside of the
 * system's directories, templates can read only the executable and Ruby's own files in `lib` beside its
 * `bin`: the shared library, the standard library and the gems. They cannot read the rest of `lib`, because
 * it may be `~/lib`. For Debian's ruby they can also read the gems that root installed in /var/lib/gems.
 */
export function nativeRuby(path: string): UnconfinedCommand {
  const library = basename(dirname(path)) === 'bin' ? librariesIn(join(dirname(dirname(path)), 'lib')) : [];
  return {
    engine: 'ruby',
    name: path,
    executable: path,
    // rubygems is loaded only when a template requires a gem (renderer.rb). Older rubies warn about features
    // in --disable that they do not have, hence -W0.
    arguments: ['-W0', '-EUTF-8:UTF-8', disabledFeatures, '-e', ownKeyring + readFileSync(script, 'utf8')],
    readablePaths: [path, ...library, ...(path.startsWith('/usr/') ? namesIn('/var/lib', /^gems$/) : [])],
    limits: [`--as=${memoryBytes}`],
  };
}

function librariesIn(lib: string): readonly string[] {
  return [
    ...namesIn(lib, /^libruby[\w.-]*\.so[\d.]*$/),
    ...namesIn(join(lib, 'ruby'), /^\d+\.\d+\.\d+/),
    ...namesIn(join(lib, 'ruby', 'gems'), /^\d+\.\d+\.\d+/),
  ];
}

function namesIn(directory: string, pattern: RegExp): readonly string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => pattern.test(name))
    .map((name) => join(directory, name));
}

/**
 * Returns the command of Ruby as WebAssembly in a separate Node process, so that nothing blocks this process,
 * and its 200 MB are freed when it ends. Even without namespaces, templates have neither files nor processes
 * nor sockets: WebAssembly can use only its imports, and ruby-wasm.ts provides clocks, random numbers and the
 * three standard streams. Node's permission model is a second barrier.
 */
export function wasmRuby(): UnconfinedCommand {
  const directory = rubyDirectory(fileURLToPath(new URL('../../../', import.meta.url)));
  const flags = [
    ...['--liftoff-only', '--disable-warning=ExperimentalWarning', '--disable-warning=PERM0005'],
    ...[`--wasm-max-mem-pages=${memoryBytes / 65_536}`, '--disallow-code-generation-from-strings'],
    ...['--permission', '--allow-wasi', `--allow-fs-read=${script}`, `--allow-fs-read=${directory}`],
  ];
  return {
    engine: 'ruby.wasm',
    name: process.execPath,
    executable: process.execPath,
    arguments: [...flags, join(directory, 'ruby-wasm.mjs'), script],
    readablePaths: [process.execPath, script, directory],
    limits: [],
  };
}

/** Returns the command with only the limits that every machine supports. */
export function withLimits({
  readablePaths: _reads,
  limits: _limits,
  ...command
}: UnconfinedCommand): RubyCommand {
  const limit = `ulimit -t ${cpuSeconds} && exec "$@"`;
  return {
    ...command,
    executable: '/bin/sh',
    arguments: ['-c', limit, 'sh', command.executable, ...command.arguments],
  };
}

/**
 * Above all user ids that systemd assigns to users, services and containers (systemd.io: Users, Groups, UIDs
 * and GIDs).
 */
const firstUnusedUser = 0x70000000;

/**
 * Returns the command in its own namespaces (confine.sh). It fails to start if the kernel, or an old
 * util-linux, does not allow them.
 */
export function withNamespaces({ readablePaths, limits, ...command }: UnconfinedCommand): RubyCommand {
  const isRoot = process.geteuid?.() === 0;
  return {
    ...command,
    // unshare(1) kills its child when it ends, and setpriv(1) kills unshare when this process ends.
    executable: 'setpriv',
    arguments: [
      ...['--pdeathsig', 'KILL', 'unshare', ...(isRoot ? [] : ['--user', '--map-root-user'])],
      ...['--mount', '--pid', '--net', '--ipc', '--uts', '--fork', '--kill-child', '--'],
      ...[
        '/bin/sh',
        join(moduleDirectory, 'confine.sh'),
        isRoot ? String(firstUnusedUser + process.pid) : 'user',
      ],
      ...['--core=0', '--nofile=256', '--nproc=64', `--cpu=${cpuSeconds}`, ...limits, '--'],
      ...[...readablePaths, '--', command.executable, ...command.arguments],
    ],
  };
}
