import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { checkRequirements } from '../../src/cluster/daemon/check-requirements.ts';
import { isProductError } from '../../src/errors/product-error.ts';

/** What keeps the suite from running here, and how to get it; undefined where nothing does. */
export async function obstacle(): Promise<string | undefined> {
  if (spawnSync('go', ['version']).status !== 0) return 'needs Go on PATH, from https://go.dev/dl';
  try {
    await checkRequirements(tmpdir());
    return undefined;
  } catch (error) {
    if (!isProductError(error, 'CLUSTER_UNSUPPORTED')) throw error;
    return error.message;
  }
}
