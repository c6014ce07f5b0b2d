import type { CallContext } from '../call.ts';
import type { DeleteStemcellRequest } from '../protocol/methods.ts';
import type { RegistryConfig } from '../config/registry.ts';

/**
 * delete_stemcell(cid): deletes the image of a stemcell that create_stemcell pushed to the configured
 * registry. A light stemcell is a reference to an image that the CPI does not manage, so it needs no
 * deletion; nodes delete images that no pod uses by themselves. Any other cid succeeds, as the contract
 * requires. If a registry is configured, logs a line: the image may be in a registry that was configured
 * earlier.
 */
export async function deleteStemcell(
  call: CallContext,
  { stemcellCid: cid }: DeleteStemcellRequest,
): Promise<null> {
  const { registry } = call.config;
  if (registry === undefined) return null;
  const digest = digestInRegistry(cid, registry);
  if (digest === undefined) {
    const pushedTo = `${registry.pullHost}/${registry.repository}`;
    call.log(
      `Nothing was deleted: the stemcell '${cid}' is not an image with a digest in ${pushedTo}, to which create_stemcell pushes`,
    );
    return null;
  }
  const { removeStemcell } = await import('./remove-stemcell.ts');
  await removeStemcell(call, registry, digest);
  return null;
}

/** Returns the digest of a cid that is in this registry's repository; undefined for any other. */
function digestInRegistry(cid: string, { pullHost, repository }: RegistryConfig): string | undefined {
  const prefix = `${pullHost}/${repository}@`;
  const [image = ''] = cid.split('#');
  const digest = image.startsWith(prefix) ? image.slice(prefix.length) : '';
  return /^sha256:[0-9a-f]{64}$/u.test(digest) ? digest : undefined;
}
