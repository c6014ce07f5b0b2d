import { connect } from 'node:net';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { poll, type PollOptions } from '../../platform/poll.ts';
import { oneLine } from '../../errors/text.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Terminal } from '../output/terminal.ts';

export interface UrlCheck {
  readonly terminal: Pick<Terminal, 'out' | 'error'>;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** True if the VM is on the embedded cluster. */
  readonly isEmbedded: boolean;
  /** The command that shows the logs of the jobs, for the message. */
  readonly logsCommand: string;
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
  { terminal, clock, signal, isEmbedded, logsCommand }: UrlCheck,
): Promise<number> {
  const timeoutMs = isEmbedded ? embeddedTimeoutMs : remoteTimeoutMs;
  if (url !== undefined && !(await awaitConnection(url, { clock, signal, timeoutMs }))) {
    const refused =
      `The jobs run, but ${url} still refuses connections after another ${timeoutMs / 1000} s. Either tags.url of the manifest ` +
      `is not where the job listens, or the job's log, in the VM below /var/vcap/sys/log, has the cause: ${logsCommand}`;
    terminal.error(isEmbedded ? refused : `Warning: ${refused}`);
    if (isEmbedded) return 1;
  }
  terminal.out(url === undefined ? 'Succeeded\n' : `${oneLine(url)}\n`);
  return 0;
}

/**
 * Waits until the host of `url` accepts connections, because monit reports a process as running before it
 * listens. Returns false if the host still refuses connections after the timeout. Returns true for every
 * other outcome, because this machine cannot judge it (another network, another scheme).
 */
export async function awaitConnection(
  url: string,
  options: Omit<PollOptions, 'maxDelayMs'>,
): Promise<boolean> {
  const endpoint = endpointOf(url);
  if (endpoint === undefined) return true;
  const attempt = async (): Promise<true | undefined> => ((await isRefused(endpoint)) ? undefined : true);
  return (await poll(attempt, { ...options, maxDelayMs: 500 })) === true;
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

function endpointOf(url: string): Endpoint | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port } = new URL(url);
  const standard = { 'http:': 80, 'https:': 443 }[protocol];
  if (standard === undefined) return undefined;
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? standard : Number(port) };
}

function isRefused(endpoint: Endpoint): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ ...endpoint, timeout: 2000 });
    const end = (refused: boolean): void => {
      socket.destroy();
      resolve(refused);
    };
    socket.once('connect', () => end(false));
    socket.once('timeout', () => end(false));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED'));
  });
}

/**
 * Throws MANIFEST_INVALID if the tag `url`, which `up` prints last, is not a URL, because a reader of the
 * last line would expect it to work. For `create-env` a tag may have any value, as in bosh.
 */
export function checkUrlTag({ tags, tagPositions }: Pick<Manifest, 'tags' | 'tagPositions'>): void {
  const { url } = tags;
  // `localhost:8080` would be a URL with the scheme `localhost`.
  if (url === undefined || (/^[a-z][a-z0-9+.-]*:\/\//i.test(url) && URL.canParse(url))) return;
  throw new ProductError(
    'MANIFEST_INVALID',
    `${tagPositions['url']}: it is not a URL like http://10.0.0.6:8080/, and 'up' prints it last; correct it, or remove the tag`,
  );
}
