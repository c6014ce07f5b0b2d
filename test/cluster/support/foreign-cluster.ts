import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, delimiter } from 'node:path';
import { packLightStemcell } from '../../../src/bosh/stemcell/pack-light-stemcell.ts';
import type { SecurityProfile } from '../../../src/cpi/config/profile.ts';
import { loadAccess } from '../../../src/kubernetes/access/kubeconfig-access.ts';
import type { ClusterUnderTest, DiskClass, Stemcell } from './cluster-under-test.ts';
import { existsSync } from 'node:fs';

/** Opens a cluster of which only the API server is accessible. */
export async function openForeignCluster(settings: ForeignSettings): Promise<ClusterUnderTest> {
  const kubeconfig = await readFile(settings.kubeconfig, 'utf8');
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-stemcells-'));
  const stemcellFor = (profile: SecurityProfile): Promise<Stemcell> => {
    const image = settings.stemcells[profile];
    if (image === undefined) throw new Error(`there is no stemcell for profile ${profile}`);
    return lightStemcell(image, join(directory, `${profile}.tgz`));
  };
  return {
    access: await loadAccess(kubeconfig),
    kubeconfig,
    kubectl: ['kubectl', '--kubeconfig', settings.kubeconfig],
    kubeletRootDirectory: settings.kubeletRootDirectory,
    stemcell: await stemcellFor('privileged'),
    stemcellFor,
    stockStemcell: noLookAlikes,
    heavyStockStemcell: noLookAlikes,
    fixedAddress: (number) => settings.addresses[number],
    storageClass: (diskClass) => classOf(settings, diskClass),
    violations: () => Promise.resolve([]),
    hasSnapshot: () => Promise.resolve(undefined),
    nodes: [],
    close: () => rm(directory, { recursive: true }),
  };
}

function classOf(
  { storageClass, waitingStorageClass }: ForeignSettings,
  diskClass: DiskClass,
): string | undefined {
  switch (diskClass) {
    case 'loop':
      return storageClass;
    case 'loop-wait':
      return waitingStorageClass ?? storageClass;
    case 'loop-plain':
    case 'loop-forgetful':
      throw new Error(`${diskClass} is a class of the suite's own volume driver`);
  }
}

async function lightStemcell(image: string, archive: string): Promise<Stemcell> {
  const [imageReference = '', imageDigest] = image.split('@');
  await packLightStemcell(
    {
      ...{ name: 'bosh-kubernetes-suite', version: '1', operatingSystem: 'debian', imageReference },
      ...(imageDigest !== undefined && { imageDigest }),
    },
    archive,
  );
  return { image, archive };
}

const noLookAlikes = (): Promise<never> =>
  Promise.reject(new Error("look-alikes of stock stemcells are on the suite's own cluster alone"));

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
  if (!path.some((directory) => directory !== '' && existsSync(join(directory, 'kubectl'))))
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
