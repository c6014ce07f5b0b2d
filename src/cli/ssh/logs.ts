import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { VmAccess } from '../../deploy/vm-access.ts';
import { ProductError } from '../../errors/product-error.ts';
import { oneLine } from '../../errors/text.ts';
import type { ExecStreams } from '../../kubernetes/client/stream-exec.ts';
import { temporaryPath } from '../../platform/durable-file.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import type { CommandContext } from '../command.ts';
import { scpArguments, runOpenssh, type OpensshRun } from './openssh.ts';
import type { Terminal } from '../output/terminal.ts';
import { withLiveProgress } from '../output/with-progress.ts';
import type { LogsArguments } from './ssh-arguments.ts';
import type { VmContainer } from './vm-container.ts';
import { cleanupBudget, type SshSession } from './with-ssh-session.ts';

/** The VM whose logs are downloaded, and the way in which files of it are copied. */
export interface LogSource {
  /** The deployment's name. */
  readonly name: string;
  readonly client: VmAccess['client'];
  /** The account that copies the archive. Empty for root. */
  readonly user: string;
  /** Copies a file of the VM to a path that does not exist. */
  readonly copy: (pathInVm: string, path: string) => Promise<void>;
}

/** Copies with scp. */
export function sshSource(
  { client, login, name }: SshSession,
  { terminal, ...run }: OpensshRun & { readonly terminal: Terminal },
): LogSource {
  return {
    ...{ name, client, user: login.user },
    async copy(pathInVm, path) {
      const paths = [
        { path: pathInVm, isInVm: true },
        { path, isInVm: false },
      ];
      // On a terminal, scp shows the bytes.
      const quiet = terminal.display === undefined ? ['-q'] : [];
      const code = await runOpenssh('scp', [...quiet, ...scpArguments(login, paths)], run);
      if (code !== 0) throw failed(`scp could not copy the logs from the VM (exit code ${code})`);
    },
  };
}

/** Copies with a command in the VM's container. */
export function containerSource(
  container: VmContainer,
  vm: VmAccess,
  { signal }: Pick<CommandContext, 'signal'>,
): LogSource {
  return {
    ...{ name: vm.name, client: (until) => vm.client(until), user: '' },
    async copy(pathInVm, path) {
      const file = await open(path, 'wx', 0o600);
      let problem = '';
      try {
        const onOutput: ExecStreams['onOutput'] = async (stream, data) => {
          if (stream === 'stdout') await file.appendFile(data);
          else
            problem += Buffer.from(data)
              .toString('utf8')
              .slice(0, maxProblemLength - problem.length);
        };
        const code = await container.run(['cat', '--', pathInVm], { onOutput, signal });
        if (code !== 0) throw failed(`The logs could not be copied from the VM: ${oneLine(problem)}`);
      } finally {
        await file.close();
      }
    },
  };
}

const maxProblemLength = 500;

/**
 * Lets the agent pack logs, downloads the archive and lets the agent remove it. Returns the path of the
 * downloaded file.
 */
export async function downloadLogs(
  { client, user, name, copy }: LogSource,
  { types, filters, directory }: LogsArguments,
  { signal, terminal }: Pick<CommandContext, 'signal' | 'terminal'>,
): Promise<string> {
  if ((await stat(directory).catch(() => undefined))?.isDirectory() !== true)
    throw new ProductError(
      'FILE_NOT_FOUND',
      `There is no folder '${directory}' for the logs; create it, or name another one with --dir`,
    );
  const time = new Date().toISOString().replaceAll(/[-:]|\..*/g, '');
  const path = join(resolve(directory), `${parsePathSegment(name) ?? 'vm'}-logs-${time}.tgz`);
  const draft = temporaryPath(path);
  const bundle = await withLiveProgress(terminal, 'Packing the logs', () =>
    client(signal).bundleLogs(user, types, filters),
  );
  try {
    await copy(bundle.path, draft);
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
async function removeBundle(client: LogSource['client'], path: string, terminal: Terminal): Promise<void> {
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
 * Returns a shell script that shows the ends of log files in a VM. `find` passes file names unchanged,
 * whatever names jobs give their files. Job names were validated when the arguments were parsed.
 */
export function tailScript({ types, jobs, follow, lines = 10 }: LogsArguments): string {
  const paths = types.flatMap((type) =>
    type === 'job' && jobs.length > 0
      ? jobs.map((name) => `${directories.job}/${name}/`)
      : [`${directories[type]}/`],
  );
  const names = notText.map((glob) => `! -name "${glob}"`).join(' ');
  const find = `find ${paths.join(' ')} -type f ${names} -print0`;
  return `${find} | xargs -0 -r tail -n ${lines}${follow ? ' -F' : ''} --`;
}

/** Returns the command that runs that script as root, for the shell of an account. */
export function tailCommand(request: LogsArguments): string[] {
  return ['sudo', '-n', 'sh', '-c', `'${tailScript(request)}'`];
}
