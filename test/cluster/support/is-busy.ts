import { isProductError } from '../../../src/errors/product-error.ts';

/** Returns true if detach_disk rejects because the disk is in use. Any other error is thrown. */
export async function isBusy(detached: Promise<unknown>): Promise<boolean> {
  try {
    await detached;
    return false;
  } catch (error) {
    if (isProductError(error, 'DISK_BUSY')) return true;
    throw error;
  }
}
