import { isProductError } from '../../../src/errors/product-error.ts';

/** Whether a detach_disk is refused because the disk is in use; any other error is thrown. */
export async function isBusy(detached: Promise<unknown>): Promise<boolean> {
  try {
    await detached;
    return false;
  } catch (error) {
    if (isProductError(error, 'DISK_BUSY')) return true;
    throw error;
  }
}
