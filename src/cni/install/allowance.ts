import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from './arguments.ts';
import { removeWhole, writeWhole } from './durable.ts';

/** In the folder of the plugins; no runtime looks for it. */
const record = '.static-ip-allowed';

/** Whether the API once let a pod of this node read its DaemonSet, kept on the node: the next container has to know. */
export interface Allowance {
  readonly isKnown: () => boolean;
  readonly remember: () => Promise<void>;
}

export function allowanceIn({ binDirectory }: Place): Allowance {
  return {
    isKnown: () => existsSync(join(binDirectory, record)),
    remember: async () => {
      if (!existsSync(join(binDirectory, record))) await writeWhole(binDirectory, record, '', 0o644);
    },
  };
}

/** With the plugin goes what was known. */
export function forgetAllowance({ binDirectory }: Place): Promise<void> {
  return removeWhole(binDirectory, record);
}
