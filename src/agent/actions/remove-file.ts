import { rm } from 'node:fs/promises';
import { ProductError } from '../../errors/product-error.ts';
import type { Directories } from '../directories.ts';
import type { Action } from './action.ts';
import { stringArg } from './arguments.ts';
import { isBundlePath } from './bundle-logs.ts';

/**
 * `remove_file [path]` -> path, even if the file does not exist. Upstream's agent
 * (agent/action/remove_file.go) removes any file. This one removes only files that bundle_logs created; their
 * directory belongs to root.
 */
export function removeFile(directories: Directories): Action {
  return {
    mode: 'synchronous',
    async run(list) {
      const path = stringArg(list, 0, 'path');
      if (!isBundlePath(path, directories)) {
        throw new ProductError(
          'AGENT_ARGUMENT_INVALID',
          'remove_file removes only files that bundle_logs made',
        );
      }
      await rm(path, { force: true });
      return path;
    },
  };
}
