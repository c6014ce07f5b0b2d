import { execFile, spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';

export interface KubectlResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * kubectl from PATH, with one kubeconfig, without the user's configuration and cache, and with a timeout of
 * 30 s for each call.
 */
export class Kubectl {
  readonly #environment: NodeJS.ProcessEnv;

  /** `home` is a directory of the test for kubectl's discovery cache. */
  constructor(kubeconfig: string, home: string) {
    this.#environment = { PATH: process.env['PATH'], HOME: home, KUBECONFIG: kubeconfig, LC_ALL: 'C.UTF-8' };
  }

  /** Runs kubectl and waits for its end. `input` is its stdin. Never rejects for an exit code. */
  run(args: readonly string[], input = ''): Promise<KubectlResult> {
    return new Promise((resolve, reject) => {
      const options = { env: this.#environment, timeout: 30_000, maxBuffer: 16 * 1024 * 1024 };
      const child = execFile('kubectl', args, options, (error, stdout, stderr) => {
        if (error !== null && typeof error.code !== 'number') reject(error);
        else resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr });
      });
      // A command that fails at once may not read its input.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input);
    });
  }

  /** Starts kubectl without waiting for its end, for `logs -f` and watches. The caller kills it. */
  start(args: readonly string[]): ChildProcessWithoutNullStreams {
    return spawn('kubectl', args, { env: this.#environment });
  }
}

/** Returns true if kubectl is in PATH. */
export function hasKubectl(): Promise<boolean> {
  return new Promise((resolve) => {
    execFile('kubectl', ['version', '--client'], { timeout: 30_000 }, (error) => resolve(error === null));
  });
}
