import { isProductError } from '../../errors/product-error.ts';
import { ensurePrivateDirectory } from '../../platform/private-directory.ts';
import type { Volman } from '../volman/volman.ts';
import { removeMountPoints } from './container-folders.ts';
import { type ContainerRecord, lockContainer, readRecords } from './container-record.ts';

export interface ReleaseOptions {
  readonly state: string;
  readonly volman: Volman;
  readonly onStep: (step: string) => void;
}

/**
 * Unmounts the volumes of a container in reverse order, removes its directories and then its record. It can
 * be repeated at any time. Returns the errors of volumes that are still mounted; then the record stays.
 */
export async function releaseContainer({
  record,
  state,
  volman,
  onStep,
}: ReleaseOptions & { readonly record: ContainerRecord }): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const { driver, volumeId } of record.volumes.toReversed()) {
    try {
      await volman.release({ driver, volumeId, containerId: record.container });
      onStep(`unmount ${driver} ${volumeId}`);
    } catch (error) {
      if (!isProductError(error)) throw error;
      failures.push(`volume ${volumeId}: ${error.message}`);
    }
  }
  if (failures.length > 0) return failures;
  await removeMountPoints(state, record.container);
  onStep('forget');
  return [];
}

/**
 * Releases containers of killed cells. Their apps ended with the cells, but their volumes are still mounted.
 * Skips containers of running cells. Returns the errors of volumes that are still mounted.
 */
export async function cleanUpOrphans(
  ports: ReleaseOptions & { readonly log: (line: string) => void },
): Promise<readonly string[]> {
  const state = await ensurePrivateDirectory(ports.state);
  const left: string[] = [];
  for (const { container } of await readRecords(state)) {
    const lock = await lockContainer(state, container);
    if (lock === undefined) continue;
    try {
      // its cell may have ended normally in the meantime
      const record = (await readRecords(state)).find((found) => found.container === container);
      if (record === undefined) continue;
      const rest = await releaseContainer({ ...ports, state, record });
      ports.log(
        rest.length === 0
          ? `container '${container}' had ended without its cell; its volumes are unmounted`
          : `container '${container}' had ended without its cell; left of it: ${rest.join('; ')}`,
      );
      left.push(...rest);
    } finally {
      lock.release();
    }
  }
  return left;
}
