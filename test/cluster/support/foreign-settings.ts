import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { SecurityProfile } from '../../../src/cpi/vm/profile.ts';

/** What has to be told about a cluster that is not the suite's own. */
export interface ForeignSettings {
  /** Path of a kubeconfig with its credentials in it. */
  readonly kubeconfig: string;
  readonly kubeletRootDirectory: string;
  /** Image references by profile; the one for `privileged` runs VMs of any profile that has no own. */
  readonly stemcells: Readonly<Partial<Record<SecurityProfile, string>>> & { readonly privileged: string };
  /** A class whose volumes grow and can be snapshotted; absent: the cluster's default. */
  readonly storageClass: string | undefined;
  /** Another, whose volumes wait for their first consumer; absent: tests that need two skip. */
  readonly waitingStorageClass: string | undefined;
  /** Fixed addresses of the pod network that nobody else uses; none where it cannot pin one. */
  readonly addresses: readonly string[];
}

/** The same variables as of `npm run test:conformance`, or a sentence that says which is missing. */
export function foreignSettings(
  kubeconfig: string,
  environment: NodeJS.ProcessEnv,
): ForeignSettings | string {
  const given = (name: string): string | undefined => environment[`CONFORMANCE_${name}`] || undefined;
  const [privileged, storageClass] = [given('STEMCELL'), given('STORAGE_CLASS')];
  const [sysAdmin, baseline] = [given('STEMCELL_SYS_ADMIN'), given('STEMCELL_BASELINE')];
  if (privileged === undefined)
    return 'needs CONFORMANCE_STEMCELL, an image that the cluster of KUBECONFIG can run';
  const path = (environment['PATH'] ?? '').split(delimiter);
  if (!path.some((folder) => folder !== '' && existsSync(join(folder, 'kubectl'))))
    return 'needs kubectl on PATH';
  return {
    kubeconfig,
    kubeletRootDirectory: given('KUBELET_ROOT_DIR') ?? '/var/lib/kubelet',
    stemcells: {
      privileged,
      ...(sysAdmin !== undefined && { 'sys-admin': sysAdmin }),
      ...(baseline !== undefined && { baseline }),
    },
    storageClass,
    waitingStorageClass: given('WAITING_STORAGE_CLASS'),
    addresses: given('ADDRESSES')?.split(',') ?? [],
  };
}
