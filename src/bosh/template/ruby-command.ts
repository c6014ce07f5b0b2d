import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface RubyCommand {
  readonly engine: 'ruby' | 'ruby.wasm';
  /** The executable that errors name. */
  readonly name: string;
  readonly executable: string;
  readonly arguments: readonly string[];
  /** Milliseconds until it can render; absent: as long as it takes, for the engine that we bring along. */
  readonly startPatience?: number;
}

/** A command with what it needs to see and to use of the machine. */
interface UnconfinedCommand extends RubyCommand {
  /** Beside the system's programs and libraries. */
  readonly readablePaths: readonly string[];
  /** Options of prlimit(1). */
  readonly limits: readonly string[];
}

/** What a template may use; docs/decisions/0005 tells it. */
const memoryBytes = 1024 ** 3;
const cpuSeconds = 600;

const checkout = fileURLToPath(new URL('../../../', import.meta.url));
const moduleDirectory = fileURLToPath(new URL('.', import.meta.url));
const script = join(moduleDirectory, 'renderer.rb');
const disabledFeatures = '--disable=gems,did_you_mean,error_highlight,syntax_suggest,rubyopt';

/** keyctl(KEYCTL_JOIN_SESSION_KEYRING): a key ring of its own in place of the operator's; without one on other processors. */
const ownKeyring = `
begin
  syscall({ "x86_64" => 250, "aarch64" => 219 }.fetch(RUBY_PLATFORM[/\\A[^-]+/]), 1, 0)
rescue SystemCallError
  # a kernel without keys
end
`;

/** All that a renderer finds in its environment: the operator's holds secrets. */
export const rubyEnvironment = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/tmp',
  LC_ALL: 'C.UTF-8',
} as const;

/**
 * A ruby that is installed on this machine; `path` without symbolic links. Of one outside of the system's folders templates
 * see its own file, and of `lib` beside its `bin` Ruby's shared library, standard library and gems alone: it may be `~/lib`.
 * Debian's ruby has the gems that root installed in /var/lib/gems.
 */
export function nativeRuby(path: string): UnconfinedCommand {
  const library = basename(dirname(path)) === 'bin' ? librariesIn(join(dirname(dirname(path)), 'lib')) : [];
  return {
    engine: 'ruby',
    name: path,
    executable: path,
    // Gems are found when a template requires one. Older rubies warn about features to disable that they have
    // not.
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

function namesIn(folder: string, pattern: RegExp): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => pattern.test(name))
    .map((name) => join(folder, name));
}

/**
 * Ruby as WebAssembly in a Node of its own: nothing blocks here, and its 200 MB go when it ends. Without namespaces, too,
 * a template has neither files nor processes nor sockets: WebAssembly reaches what it is given, and ruby-wasm.ts gives it
 * clocks, random numbers and the three standard streams. Node's permission model stands behind that.
 */
export function wasmRuby(): UnconfinedCommand {
  const packages = join(checkout, 'node_modules', '@ruby');
  const flags = [
    ...['--liftoff-only', '--disable-warning=ExperimentalWarning', '--disable-warning=PERM0005'],
    ...[`--wasm-max-mem-pages=${memoryBytes / 65_536}`, '--disallow-code-generation-from-strings'],
    ...['--permission', '--allow-wasi', `--allow-fs-read=${moduleDirectory}`, `--allow-fs-read=${packages}`],
  ];
  return {
    engine: 'ruby.wasm',
    name: process.execPath,
    executable: process.execPath,
    arguments: [...flags, join(moduleDirectory, 'ruby-wasm.ts'), script],
    readablePaths: [process.execPath, moduleDirectory, join(checkout, 'package.json'), packages],
    limits: [],
  };
}

/** The same with what every machine can limit. */
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

/** Above all that systemd gives to users, services and containers (systemd.io: Users, Groups, UIDs and GIDs). */
const firstUnusedUser = 0x70000000;

/** The same in namespaces of its own (confine.sh). It fails to start where the kernel, or an old util-linux, refuses them. */
export function withNamespaces({ readablePaths, limits, ...command }: UnconfinedCommand): RubyCommand {
  const isRoot = process.geteuid?.() === 0;
  return {
    ...command,
    // unshare(1) takes its child along, and setpriv(1) sees to it that unshare goes with this process
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
