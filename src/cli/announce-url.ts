import { oneLine } from '../errors/text.ts';
import type { Clock } from '../deploy/clock.ts';
import { awaitConnection } from './await-connection.ts';
import type { Terminal } from './terminal.ts';

export interface UrlCheck {
  readonly terminal: Pick<Terminal, 'out' | 'error'>;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /**
   * The directory of the VMs' logs on the embedded cluster, for the error message. Undefined for another
   * cluster.
   */
  readonly logs: string | undefined;
}

/**
 * Milliseconds that a job may take to open its port after monit reports it as running. After a restart of the
 * cluster no post-start script has waited for it.
 */
const embeddedTimeoutMs = 120_000;
/**
 * The timeout on another cluster, in milliseconds. A port that is not open after it may depend on more than
 * this deployment, for example on a load balancer that is still being configured.
 */
const remoteTimeoutMs = 30_000;

/**
 * Prints a deployment's URL once it accepts connections, and returns the exit code. On the embedded cluster,
 * a URL that refuses connections until the timeout is an error and is not printed, because a reader of the
 * last line would expect it to work. On another cluster it is only a warning.
 */
export async function announceUrl(
  url: string | undefined,
  { terminal, clock, signal, logs }: UrlCheck,
): Promise<number> {
  const timeoutMs = logs === undefined ? remoteTimeoutMs : embeddedTimeoutMs;
  if (url !== undefined && !(await awaitConnection(url, { clock, signal, timeoutMs }))) {
    const refused = `The jobs run, but ${url} takes no connections after ${timeoutMs / 1000} s more`;
    terminal.error(logs === undefined ? `Warning: ${refused}` : `${refused}; their logs: ${logs}`);
    if (logs !== undefined) return 1;
  }
  terminal.out(url === undefined ? 'Succeeded\n' : `${oneLine(url)}\n`);
  return 0;
}
