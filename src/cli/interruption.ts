/**
 * One Ctrl-C may arrive twice, from the terminal and from the launcher (bin/bosh-kubernetes.mjs): what comes within these
 * milliseconds of the first signal is taken for that.
 */
const sameKeystroke = 500;

export interface InterruptionOptions {
  readonly process: Pick<NodeJS.Process, 'on' | 'pid' | 'kill' | 'removeAllListeners'>;
  readonly now: () => number;
}

/**
 * Aborted by the first SIGINT, SIGTERM or SIGHUP: the command ends at its next safe point. A later SIGINT or SIGTERM ends the
 * process at once, as if nothing were listening, also where a call into the kernel does not return.
 */
export function interruption({ process, now }: InterruptionOptions): AbortController {
  const interrupted = new AbortController();
  let first: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      first ??= now();
      interrupted.abort(new Error(`interrupted by ${signal}`));
      // a closing terminal sends SIGHUP more than once
      if (signal === 'SIGHUP' || now() - first < sameKeystroke) return;
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  }
  return interrupted;
}
