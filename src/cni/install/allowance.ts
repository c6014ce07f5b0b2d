import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CniPaths } from './arguments.ts';
import { removeDurable, writeAtomic } from './durable.ts';

/** A file in the directory of the plugins; runtimes ignore it. */
const record = '.static-ip-allowed';

/**
 * Records on the node that the API once allowed a pod of this node to read its DaemonSet. The next container
 * needs to know that.
 */
export interface ApiAccess {
  readonly isRecorded: () => boolean;
  readonly remember: () => Promise<void>;
}

export function allowanceIn({ binDirectory }: CniPaths): ApiAccess {
  return {
    isRecorded: () => existsSync(join(binDirectory, record)),
    remember: async () => {
      if (!existsSync(join(binDirectory, record))) await writeAtomic(binDirectory, record, '', 0o644);
    },
  };
}

/** Removes the record. Called when the plugin is removed. */
export function forgetAllowance({ binDirectory }: CniPaths): Promise<void> {
  return removeDurable(binDirectory, record);
}
