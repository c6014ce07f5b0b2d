import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { type Ran, run } from '../support/run.ts';

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
  run(args: readonly string[], input = ''): Promise<Ran> {
    return run(['kubectl', ...args], { input, env: this.#environment, timeoutMs: 30_000 });
  }

  /** Starts kubectl without waiting for its end, for `logs -f` and watches. The caller kills it. */
  start(args: readonly string[]): ChildProcessWithoutNullStreams {
    return spawn('kubectl', args, { env: this.#environment });
  }
}

/** Returns true if kubectl is in PATH. */
export function hasKubectl(): Promise<boolean> {
  return run(['kubectl', 'version', '--client'], { timeoutMs: 30_000 }).then(
    ({ exitCode }) => exitCode === 0,
    () => false,
  );
}
