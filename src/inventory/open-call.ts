import type { CallContext } from '../cpi/call.ts';
import { parseConfig } from '../cpi/config/config.ts';
import type { Access } from '../kubernetes/access/access.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import { systemClock } from '../platform/clock.ts';
import type { Namespaces } from './object-lists.ts';

export type { CallContext };

/** Returns the context in which the CPI's own functions delete objects, with the CPI's default deadlines. */
export function openCall(
  api: KubernetesApi,
  access: Access,
  { vms, disks }: Namespaces,
  reportProgress: (line: string) => void,
): CallContext {
  return {
    api,
    exec: async (command) => {
      const { runScript } = await import('../kubernetes/client/exec.ts');
      return runScript(access, { namespace: vms, ...command });
    },
    config: parseConfig({}, {}),
    namespace: vms,
    diskNamespace: disks,
    clock: systemClock,
    newUuid: () => crypto.randomUUID(),
    directorUuid: undefined,
    log: reportProgress,
    reportProgress,
  };
}
