import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ProductError } from '../../errors/product-error.ts';
import { temporaryPath } from '../../platform/durable-file.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import { scpArguments } from './openssh-arguments.ts';
import { runOpenssh, type OpensshRun } from './run-openssh.ts';
import type { LogsArguments } from './ssh-arguments.ts';
import { cleanupBudget, type SshSession } from './with-ssh-session.ts';

/**
 * Lets the agent pack logs, downloads them with scp and lets the agent remove the archive. Returns the path
 * of the downloaded file.
 */
export async function downloadLogs(
  { client, login, name }: SshSession,
  { types, filters, directory }: LogsArguments,
  run: OpensshRun,
): Promise<string> {
  const time = new Date().toISOString().replaceAll(/[-:]|\..*/g, '');
  const path = join(resolve(directory), `${parsePathSegment(name) ?? 'vm'}-logs-${time}.tgz`);
  const draft = temporaryPath(path);
  const bundle = await client(run.signal).bundleLogs(login.user, types, filters);
  try {
    const places = [
      { path: bundle.path, isInVm: true },
      { path: draft, isInVm: false },
    ];
    const code = await runOpenssh('scp', ['-q', ...scpArguments(login, places)], run);
    if (code !== 0) throw failed(`scp could not copy the logs from the VM (exit code ${code})`);
    const hash = createHash('sha512');
    await pipeline(createReadStream(draft), hash);
    if (hash.digest('hex') !== bundle.sha512)
      throw failed('The logs that came are not what the agent packed: their SHA-512 differs');
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
    // Must also run after an interrupt.
    await client(AbortSignal.timeout(cleanupBudget)).removeFile(bundle.path);
  }
  return path;
}

function failed(what: string): ProductError {
  return new ProductError('SSH_FAILED', `${what}; run the command again`);
}
