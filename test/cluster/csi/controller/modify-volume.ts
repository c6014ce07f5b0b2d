import type { Driver } from '../drivers.ts';
import { CsiError } from '../grpc/csi-error.ts';
import type { ModifyRequest } from '../grpc/messages.ts';
import { require, requireVolume } from './controller.ts';
import type { Controller } from './controller.ts';

const known: Readonly<Record<string, RegExp>> = { iops: /^[1-9]\d{0,6}$/, tier: /^[a-z]{1,20}$/ };

/** Throws INVALID_ARGUMENT for a parameter of a VolumeAttributesClass that the driver does not support. */
export function requireMutableParameters(driver: Driver, parameters: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(parameters)) {
    require(driver.canModify, 'change the attributes of volumes', driver);
    if (known[key]?.test(value) !== true) {
      throw new CsiError('INVALID_ARGUMENT', `the attribute ${key} cannot be ${JSON.stringify(value)}`);
    }
  }
}

/** Records the attributes. They do not make a sparse file faster. */
export function modifyVolume(controller: Controller): (request: ModifyRequest) => Promise<object> {
  return async ({ volumeId, mutableParameters }) => {
    require(controller.driver.canModify, 'change the attributes of volumes', controller.driver);
    requireMutableParameters(controller.driver, mutableParameters);
    return await controller.lock(volumeId, async () => {
      const volume = await requireVolume(controller, volumeId);
      await controller.store.saveVolume({ ...volume, mutableParameters });
      return {};
    });
  };
}
