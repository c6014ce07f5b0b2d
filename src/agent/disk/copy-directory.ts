import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { ProductError } from '../../errors/product-error.ts';
import { runProgram } from '../../platform/run-program.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import { errorMessage } from '../file/error-code.ts';

const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

const sigpipeStatus = new Set(['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE']);

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

/**
 * Copies the content of a directory into another with owners, modes, times, links and holes, and resolves
 * when the copy is on the disk. (bosh-agent: platform/linux_platform.go copies with two tars as well, because
 * times and owners survive.) Rejects with AGENT_DISK_FAILED. Only reads the source. Replaces links in the
 * target and does not follow them. Restricts the target to root during the copy, so that job users cannot
 * plant links for tar to follow.
 */
export async function copyDirectory(source: string, target: string): Promise<void> {
  await restrictToRoot(source, target);
  const pack = spawn('tar', ['-C', source, '--numeric-owner', '--sparse', '-cf', '-', '.'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const unpack = spawn('tar', ['-C', target, '--numeric-owner', '-xpf', '-'], {
    env: environment,
    // Our executable runs on Bun, which cannot pass one program's stream to another.
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const [broken, packed, unpacked] = await Promise.all([
    pipeline(pack.stdout, unpack.stdin).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    ),
    ended(pack),
    ended(unpack),
  ]);
  for (const { code, stderr } of [unpacked, packed]) {
    if (code !== 0) throw failed(source, target, stderr);
  }
  // tar may stop to read before the padding at the end of the archive, so a closed pipe is not an error.
  if (broken !== undefined && !sigpipeStatus.has(broken.code ?? '')) {
    throw failed(source, target, broken.message);
  }
  const synced = await runProgram({ file: 'sync', args: ['-f', target], environment });
  if (synced.exitCode !== 0) throw failed(source, target, synced.stderr.trim().slice(-1000));
}

async function restrictToRoot(source: string, target: string): Promise<void> {
  try {
    await using directory = await DirectoryHandle.open(target);
    await directory.chownToRoot(undefined, 0o700);
  } catch (error) {
    throw failed(source, target, errorMessage(error));
  }
}

async function ended(program: ReturnType<typeof spawn>): Promise<Ended> {
  const exit = new Promise<number | null>((resolve, reject) => {
    program.once('error', reject);
    program.once('close', resolve);
  });
  const [code, stderr] = await Promise.all([exit, program.stderr === null ? '' : text(program.stderr)]);
  return { code, stderr: stderr.trim().slice(-1000) };
}

function failed(source: string, target: string, reason: string): ProductError {
  return new ProductError('AGENT_DISK_FAILED', `copying ${source} to ${target} failed: ${reason}`);
}
