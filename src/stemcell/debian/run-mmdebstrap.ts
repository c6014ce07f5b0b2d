import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ProductError } from '../../errors/product-error.ts';
import type { RootRequest } from './root-request.ts';
import { mmdebstrapOptions } from './root-request.ts';
import { signalGroup } from '../../platform/run-program.ts';

export interface MmdebstrapContext {
  /** An abort terminates mmdebstrap. It removes its temporary root before the calls reject. */
  readonly signal: AbortSignal;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The effective user of this process. */
  readonly user: number | undefined;
}

interface Run {
  readonly stdout: Readable;
  /**
   * Resolves with mmdebstrap's output on stderr; rejects with STEMCELL_BUILD_FAILED. Await it while reading
   * stdout.
   */
  readonly ended: Promise<string>;
}

/**
 * Rejects with STEMCELL_BUILD_UNSUPPORTED and the missing requirement if this machine cannot make a Debian
 * root. Returns mmdebstrap's version.
 */
export async function checkMachine(context: MmdebstrapContext): Promise<string> {
  const version = await readVersion(context);
  const missing = [
    ...(version === undefined ? ['mmdebstrap (apt-get install mmdebstrap)'] : []),
    ...(context.user === 0 ? [] : ['root (sudo)']),
  ];
  if (version !== undefined && missing.length === 0) return version;
  const message = `A Debian root cannot be built on this machine, because it lacks ${missing.join(' and ')}. Alternatively: bosh-kubernetes stemcell build --from ROOTFS`;
  throw new ProductError('STEMCELL_BUILD_UNSUPPORTED', message);
}

async function readVersion(context: MmdebstrapContext): Promise<string | undefined> {
  const { stdout, ended } = start(['--version'], context, {});
  try {
    const [output] = await Promise.all([text(stdout), ended]);
    return output.trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Returns the packages and versions that the mirrors have now for this request, one per line, sorted. Takes
 * some seconds.
 */
export async function listPackages(request: RootRequest, context: MmdebstrapContext): Promise<string> {
  const args = [...mmdebstrapOptions(request), '--simulate', '--verbose'];
  const { stdout, ended } = start([...args, ...directory(request, '/dev/null')], context, variables(request));
  const [output, message] = await Promise.all([text(stdout), ended]);
  // The format of apt-get: "Inst <package> (<version> <origin> [<architecture>])"
  const found = `${output}\n${message}`.matchAll(/^Inst (\S+) \((\S+) /gm);
  const packages = new Set([...found].map(([, name, version]) => `${name} ${version}\n`));
  if (packages.size === 0)
    throw new ProductError(
      'STEMCELL_BUILD_FAILED',
      "'mmdebstrap --simulate --verbose' lists no package to install, so a newer root cannot be distinguished from an older one: the format of apt's lines 'Inst <package> (<version> ...)' has changed; report it, or build with --offline or --from ROOTFS",
    );
  return [...packages].toSorted().join('');
}

/** Returns the root as a tar, while it is being made. `packagesFile` is written before the tar begins. */
export function makeRoot(request: RootRequest, packagesFile: string, context: MmdebstrapContext): Run {
  return start([...mmdebstrapOptions(request), ...directory(request, '-')], context, {
    ...variables(request),
    BOSH_KUBERNETES_PACKAGES: packagesFile,
  });
}

const directory = ({ suite, mirrors }: RootRequest, output: string): string[] => [suite, output, ...mirrors];

const variables = ({ epoch }: RootRequest): Record<string, string> => ({
  SOURCE_DATE_EPOCH: String(epoch),
  LC_ALL: 'C.UTF-8',
  DEBIAN_FRONTEND: 'noninteractive',
});

const keptEnvironment = 1 << 20;

function start(
  args: readonly string[],
  { environment, signal }: MmdebstrapContext,
  more: Readonly<Record<string, string>>,
): Run {
  const child = spawn('mmdebstrap', args, {
    env: { ...environment, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
    // mmdebstrap runs in its own process group: its programs in the root must end, too, before the root can
    // be removed.
    detached: true,
  });
  const interrupt = (): void => {
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGTERM');
  };
  if (signal.aborted) interrupt();
  signal.addEventListener('abort', interrupt);
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    output = (output + chunk).slice(-keptEnvironment);
  });
  const ended = new Promise<string>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, end) => {
      signal.removeEventListener('abort', interrupt);
      // After the abort, mmdebstrap has removed its root.
      if (signal.aborted) reject(signal.reason);
      else if (code === 0) resolve(output);
      else reject(failure(output, code ?? end));
    });
  });
  // It is awaited while stdout is read, which may fail first.
  ended.catch(() => undefined);
  return { stdout: child.stdout, ended };
}

function failure(output: string, ending: number | string | null): ProductError {
  const lines = output.trim().split('\n');
  const errors = lines.filter((line) => /^(E:|W: Failed|Err:)/.test(line.trim()));
  const shown = (errors.length > 0 ? errors : lines).slice(-6).join('\n  ');
  return new ProductError(
    'STEMCELL_BUILD_FAILED',
    `mmdebstrap ended with ${ending}; nothing was published. Its output:\n  ${shown}`,
  );
}
