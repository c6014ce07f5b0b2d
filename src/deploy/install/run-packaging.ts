import { ProductError } from '../../errors/product-error.ts';
import { runProcess } from '../process/run-process.ts';
import type { ChildWatch } from '../process/child-watch.ts';

export interface PackagingRequest {
  readonly name: string;
  /** The directory with the unpacked source, which contains the script `packaging`. */
  readonly source: string;
  readonly target: string;
  readonly packagesDirectory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal | undefined;
  readonly children: ChildWatch;
}

/**
 * Runs a package's `packaging` script on this machine as bosh does (bosh-cli installation/pkg/compiler.go).
 */
export async function runPackaging(request: PackagingRequest): Promise<void> {
  const { name, source, target, packagesDirectory, children } = request;
  const result = await runProcess({
    file: 'bash',
    arguments: ['-x', 'packaging'],
    directory: source,
    environment: {
      ...request.environment,
      BOSH_COMPILE_TARGET: source,
      BOSH_INSTALL_TARGET: target,
      BOSH_PACKAGE_NAME: name,
      BOSH_PACKAGES_DIR: packagesDirectory,
    },
    signal: request.signal,
    onStart: (pid) => children.onStart(pid, { doing: `packaging of '${name}'`, disposable: true }),
  }).catch((error: unknown) => {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new ProductError('INSTALLATION_FAILED', `Compiling package '${name}' needs bash on PATH`, {
      cause: error,
    });
  });
  if (result.stopped === 'interrupt') {
    throw new ProductError(
      'INTERRUPTED',
      `Compiling package '${name}' was interrupted; the next run begins it anew`,
    );
  }
  if (result.exitCode === 0) return;
  const end =
    result.exitCode === undefined
      ? `signal ${result.killedBy ?? 'unknown'}`
      : `exit status ${result.exitCode}`;
  const said = result.stderr.trimEnd().split('\n').slice(-20).join('\n');
  throw new ProductError(
    'INSTALLATION_FAILED',
    `Compiling package '${name}': 'bash -x packaging' ended with ${end}, stderr: '${said}'`,
  );
}
