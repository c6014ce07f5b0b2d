import { openRegistry } from '../../oci/registry/open-registry.ts';
import type { RegistryClient } from '../../oci/registry/registry-client.ts';
import type { CallContext } from '../cloud.ts';
import type { RegistryConfig } from '../config/registry.ts';

/** Runs `work` with the repository of the stemcells, and lets the process end afterwards. */
export async function withRegistry<T>(
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
