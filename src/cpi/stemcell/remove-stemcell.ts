import { ProductError } from '../../errors/product-error.ts';
import { deleteManifest, getManifest } from '../../oci/registry/manifests.ts';
import type { RegistryClient } from '../../oci/registry/registry-client.ts';
import type { CallContext } from '../call.ts';
import type { RegistryConfig } from '../config/registry.ts';
import { parseObject } from '../../oci/blob.ts';
import { isObject } from '../../platform/json.ts';
import { openRegistry } from '../../oci/registry/open-registry.ts';

/**
 * Deletes the manifest of a heavy stemcell. Its layers are left to the registry's garbage collection, because
 * other images may have them. A deleted manifest is success. A manifest that create_stemcell did not make
 * stays: a light stemcell may name an image of the same repository. REGISTRY_DELETES_NOTHING if the registry
 * does not support deletion, unless the configuration allows that.
 */
export async function removeStemcell(
  call: CallContext,
  registry: RegistryConfig,
  digest: string,
): Promise<void> {
  await withStemcellRegistry(call, registry, async (client) => {
    const image = `${registry.repository}@${digest}`;
    const manifest = await getManifest(client, digest);
    if (manifest === undefined) {
      call.log(`${image} is no longer in the registry ${client.host}`);
    } else if (!isManagedManifest(manifest, image)) {
      call.log(`${image} was not made by create_stemcell and stays in the registry ${client.host}`);
    } else {
      await remove(client, { call, registry, digest });
    }
  });
}

interface Removal {
  readonly call: CallContext;
  readonly registry: RegistryConfig;
  readonly digest: string;
}

async function remove(client: RegistryClient, { call, registry, digest }: Removal): Promise<void> {
  const image = `${registry.repository}@${digest}`;
  const outcome = await deleteManifest(client, digest);
  switch (outcome) {
    case 'deleted':
    case 'absent':
      return;
    case 'refused':
      if (registry.deletion === 'best-effort') {
        call.log(`${image} stays in the registry ${client.host}, which does not allow deletion`);
        return;
      }
      throw new ProductError(
        'REGISTRY_DELETES_NOTHING',
        `${image} was not deleted: the registry ${client.host} does not allow deletion. Enable it there ` +
          '(storage.delete.enabled of docker-registry), or set the property registry.delete of the CPI to ' +
          'best-effort, and clean the registry up yourself',
      );
    default:
      return outcome satisfies never;
  }
}

/**
 * An annotation in the manifest and the config of every image that create_stemcell has pushed, and of no
 * other.
 */
export const stemcellAnnotation = 'bosh.cloudfoundry.org/stemcell-id';

/** Returns whether create_stemcell made the manifest. IMAGE_INVALID if it is not a manifest. */
export function isManagedManifest(manifest: Buffer, what: string): boolean {
  const { annotations } = parseObject(manifest, what);
  return isObject(annotations) && typeof annotations[stemcellAnnotation] === 'string';
}

/** Runs `work` with the repository of the stemcells, and lets the process end afterwards. */
export async function withStemcellRegistry<T>(
  { clock }: CallContext,
  { origin, repository, credentials, ca }: RegistryConfig,
  work: (client: RegistryClient) => Promise<T>,
): Promise<T> {
  const client = openRegistry({ origin, repository, credentials, ca, clock });
  try {
    return await work(client);
  } finally {
    client.close();
  }
}
