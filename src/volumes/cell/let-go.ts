import { isProductError } from '../../errors/product-error.ts';
import { makeOwnFolder } from '../../platform/own-folder.ts';
import type { Volman } from '../volman/volman.ts';
import { disclaimFolders } from './container-folders.ts';
import type { ContainerRecord } from './container-record.ts';
import { lockContainer, readRecords } from './container-record.ts';

export interface LetGoPorts {
  readonly state: string;
  readonly volman: Volman;
  readonly step: (step: string) => void;
}

/**
 * Unmounts the volumes of a container in reverse order, removes its folders and then its record. Safe to
 * repeat from any point. Resolves with what is left, which stays recorded.
 */
export async function letGo({
  record,
  state,
  volman,
  step,
}: LetGoPorts & { readonly record: ContainerRecord }): Promise<readonly string[]> {
  const left: string[] = [];
  for (const { driver, volumeId } of record.volumes.toReversed()) {
    try {
      await volman.release({ driver, volumeId, containerId: record.container });
      step(`unmount ${driver} ${volumeId}`);
    } catch (error) {
      if (!isProductError(error)) throw error;
      left.push(`volume ${volumeId}: ${error.message}`);
    }
  }
  if (left.length > 0) return left;
  await disclaimFolders(state, record.container);
  step('forget');
  return [];
}

/**
 * Lets go of what cells that were killed left: their apps ended with them, their volumes are still mounted.
 * Containers of cells that live are left alone. Resolves with what is left.
 */
export async function repair(
  ports: LetGoPorts & { readonly log: (line: string) => void },
): Promise<readonly string[]> {
  const state = await makeOwnFolder(ports.state);
  const left: string[] = [];
  for (const { container } of await readRecords(state)) {
    const lock = await lockContainer(state, container);
    if (lock === undefined) continue;
    try {
      // its cell may have ended well in the meantime
      const record = (await readRecords(state)).find((found) => found.container === container);
      if (record === undefined) continue;
      const rest = await letGo({ ...ports, state, record });
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
