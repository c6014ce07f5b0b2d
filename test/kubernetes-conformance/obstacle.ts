import { tmpdir } from 'node:os';
import { checkRequirements } from '../../embedded-cluster/daemon/check-requirements.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { missingGo } from '../cluster/programs/go-requirement.ts';

/** What keeps the suite from running here, and how to get it; undefined where nothing does. */
export async function obstacle(environment = process.env): Promise<string | undefined> {
  const go = missingGo(environment);
  if (go !== undefined) return `needs ${go}`;
  try {
    await checkRequirements(tmpdir());
    return undefined;
  } catch (error) {
    if (!isProductError(error, 'CLUSTER_UNSUPPORTED')) throw error;
    return error.message;
  }
}
