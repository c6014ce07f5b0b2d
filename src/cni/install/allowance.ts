import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CniPaths } from './arguments.ts';
import { removeDurable, writeAtomic } from './durable.ts';

/** In the folder of the plugins; no runtime looks for it. */
const record = '.static-ip-allowed';

/** Whether the API once let a pod of this node read its DaemonSet, kept on the node: the next container has to know. */
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

/** With the plugin goes what was known. */
export function forgetAllowance({ binDirectory }: CniPaths): Promise<void> {
  return removeDurable(binDirectory, record);
}
