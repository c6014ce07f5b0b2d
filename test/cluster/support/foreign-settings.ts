import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { SecurityProfile } from '../../../src/cpi/config/profile.ts';

/** The settings for a cluster that is not the suite's own. */
export interface ForeignSettings {
  /** The path of a kubeconfig that contains its credentials. */
  readonly kubeconfig: string;
  readonly kubeletRootDirectory: string;
  /** Image references by profile. The one for `privileged` runs VMs of any profile without one. */
  readonly stemcells: Readonly<Partial<Record<SecurityProfile, string>>> & { readonly privileged: string };
  /** A class whose volumes can be expanded and snapshotted. The default is the cluster's default class. */
  readonly storageClass: string | undefined;
  /**
   * Another class, whose volumes wait for their first consumer. Without it, tests that need two classes are
   * skipped.
   */
  readonly waitingStorageClass: string | undefined;
  /** Unused fixed addresses of the pod network. Empty if it does not support fixed addresses. */
  readonly addresses: readonly string[];
}

/**
 * Returns the settings from the variables of `npm run test:conformance`, or one sentence about the missing
 * variable.
 */
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
