import { oneLine } from '../errors/one-line.ts';
import type { Clock } from '../deploy/clock.ts';
import { awaitConnection } from './await-connection.ts';
import type { Terminal } from './terminal.ts';

export interface UrlCheck {
  readonly terminal: Pick<Terminal, 'out' | 'error'>;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** Where to look when it does not come: of the embedded cluster. Undefined of another one. */
  readonly logs: string | undefined;
}

/**
 * How long what the jobs serve may take once monit says that they run, in milliseconds. After a restart of the cluster no
 * post-start script has waited for it.
 */
const embeddedTimeoutMs = 120_000;
/** What is not there by then may wait for more than this deployment, as for a load balancer that is programmed. */
const remoteTimeoutMs = 30_000;

/**
 * Prints a deployment's URL once it takes connections, and resolves with the exit code. On the embedded cluster one that refuses
 * them until the end is not printed, and a failure: who reads the last line would take it for an address that answers. On
 * another cluster it is a warning.
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
