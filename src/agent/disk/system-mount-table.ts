import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { errorText } from '../file/error-code.ts';
import { parseMountinfo } from './mount-table.ts';
import type { MountTable } from './mount-table.ts';

const run = promisify(execFile);
const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/** The kernel's mounts, through mount(8) and umount(8). */
export const systemMountTable: MountTable = {
  list: async () => parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8')),

  async bind(source, target) {
    try {
      await run('mount', ['--bind', '--', source, target], { env: environment });
    } catch (error) {
      throw new ProductError(
        'AGENT_DISK_FAILED',
        `mounting ${source} on ${target} failed: ${outputOf(error)}`,
        {
          cause: error,
        },
      );
    }
  },

  async unmount(target) {
    try {
      await run('umount', ['--', target], { env: environment });
      return 'unmounted';
    } catch (error) {
      const output = outputOf(error);
      if (output.includes('busy')) return 'busy';
      throw new ProductError('AGENT_DISK_FAILED', `unmounting ${target} failed: ${output}`, { cause: error });
    }
  },
};

function outputOf(error: unknown): string {
  if (
    error instanceof Error &&
    'stderr' in error &&
    typeof error.stderr === 'string' &&
    error.stderr !== ''
  ) {
    return error.stderr.trim();
  }
  return errorText(error);
}
