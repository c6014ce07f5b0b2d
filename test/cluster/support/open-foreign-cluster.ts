import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packLightStemcell } from '../../../src/bosh/stemcell/pack-light-stemcell.ts';
import type { SecurityProfile } from '../../../src/cpi/config/profile.ts';
import { loadAccess } from '../../../src/kubernetes/access/kubeconfig-access.ts';
import type { ClusterUnderTest, DiskClass, Stemcell } from './cluster-under-test.ts';
import type { ForeignSettings } from './foreign-settings.ts';

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
    storageClass: (wanted) => classOf(settings, wanted),
    violations: () => Promise.resolve([]),
    hasSnapshot: () => Promise.resolve(undefined),
    nodes: [],
    close: () => rm(directory, { recursive: true }),
  };
}

function classOf(
  { storageClass, waitingStorageClass }: ForeignSettings,
  wanted: DiskClass,
): string | undefined {
  switch (wanted) {
    case 'loop':
      return storageClass;
    case 'loop-wait':
      return waitingStorageClass ?? storageClass;
    case 'loop-plain':
    case 'loop-forgetful':
      throw new Error(`${wanted} is a class of the suite's own volume driver`);
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
