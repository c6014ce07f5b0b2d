import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ProductError } from '../../errors/product-error.ts';
import { temporaryPath } from '../../platform/durable-file.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import { scpArguments, runOpenssh, type OpensshRun } from './openssh.ts';
import type { Terminal } from '../output/terminal.ts';
import { withLiveProgress } from '../output/with-progress.ts';
import type { LogsArguments } from './ssh-arguments.ts';
import { cleanupBudget, type SshSession } from './with-ssh-session.ts';

/**
 * Lets the agent pack logs, downloads them with scp and lets the agent remove the archive. Returns the path
 * of the downloaded file.
 */
export async function downloadLogs(
  { client, login, name }: SshSession,
  { types, filters, directory }: LogsArguments,
  { terminal, ...run }: OpensshRun & { readonly terminal: Terminal },
): Promise<string> {
  const time = new Date().toISOString().replaceAll(/[-:]|\..*/g, '');
  const path = join(resolve(directory), `${parsePathSegment(name) ?? 'vm'}-logs-${time}.tgz`);
  const draft = temporaryPath(path);
  const bundle = await withLiveProgress(terminal, 'Packing the logs', () =>
    client(run.signal).bundleLogs(login.user, types, filters),
  );
  try {
    const paths = [
      { path: bundle.path, isInVm: true },
      { path: draft, isInVm: false },
    ];
    // On a terminal, scp shows the bytes.
    const quiet = terminal.display === undefined ? ['-q'] : [];
    const code = await runOpenssh('scp', [...quiet, ...scpArguments(login, paths)], run);
    if (code !== 0) throw failed(`scp could not copy the logs from the VM (exit code ${code})`);
    const hash = createHash('sha512');
    await pipeline(createReadStream(draft), hash);
    if (hash.digest('hex') !== bundle.sha512)
      throw failed('The downloaded logs are not what the agent packed: their SHA-512 differs');
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
    await removeBundle(client, bundle.path, terminal);
  }
  return path;
}

/**
 * Removes the archive from the VM, also after an interrupt. If that fails, warns: the download may have
 * succeeded, or failed for a reason that the operator has to see.
 */
async function removeBundle(client: SshSession['client'], path: string, terminal: Terminal): Promise<void> {
  try {
    await client(AbortSignal.timeout(cleanupBudget)).removeFile(path);
  } catch (error) {
    if (!(error instanceof ProductError)) throw error;
    terminal.error(`Warning: the archive '${path}' of the logs may still be in the VM. ${error.message}`);
  }
}

function failed(what: string): ProductError {
  return new ProductError('SSH_FAILED', `${what}; run the command again`);
}

const directories = { job: '/var/vcap/sys/log', agent: '/var/vcap/bosh/log', system: '/var/log' } as const;
const notText = ['*.gz', '*.xz', '*.[0-9]', '*tmp', 'lastlog', 'faillog'];

/**
 * Returns the arguments of a command that shows the ends of log files in a VM, for its shell. `find` passes
 * file names unchanged, whatever names jobs give their files. Job names were validated when the arguments
 * were parsed.
 */
export function tailCommand({ types, jobs, follow, lines = 10 }: LogsArguments): string[] {
  const paths = types.flatMap((type) =>
    type === 'job' && jobs.length > 0
      ? jobs.map((name) => `${directories.job}/${name}/`)
      : [`${directories[type]}/`],
  );
  const names = notText.map((glob) => `! -name "${glob}"`).join(' ');
  const find = `find ${paths.join(' ')} -type f ${names} -print0`;
  const tail = `xargs -0 -r tail -n ${lines}${follow ? ' -F' : ''} --`;
  return ['sudo', '-n', 'sh', '-c', `'${find} | ${tail}'`];
}
