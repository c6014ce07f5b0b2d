import { ProductError } from '../../errors/product-error.ts';
import type { JsonObject } from '../../platform/fields.ts';
import { Fields, isObject } from '../../platform/fields.ts';
import { containerDir } from '../broker/options/mount-row.ts';

/** One share of a binding (OSBAPI 2.17, Volume Mounts Object). */
export interface BoundShare {
  readonly driver: string;
  readonly volumeId: string;
  readonly containerDir: string;
  readonly isReadOnly: boolean;
  /** For the driver; it may hold a password. */
  readonly config: JsonObject;
}

const longest = 4096;

/** Reads the answer to a bind, in JSON. VOLUME_MOUNT_INVALID with all faults. */
export function parseBinding(text: string): readonly BoundShare[] {
  const faults: string[] = [];
  const shares = new Fields(answerOf(text), '', faults, longest)
    .items('volume_mounts')
    .map((mount) => shareOf(mount));
  if (shares.length === 0) faults.push('volume_mounts has no share');
  for (const name of ['containerDir', 'volumeId'] as const)
    if (new Set(shares.map((share) => share[name])).size < shares.length)
      faults.push('two of the volume_mounts are for one folder, or are one volume');
  if (faults.length === 0) return shares;
  throw new ProductError(
    'VOLUME_MOUNT_INVALID',
    `the answer to the bind is wrong, nothing was written: ${faults.join('; ')}. Give it as the broker sent it`,
  );
}

function answerOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch (error) {
    // its message has a part of the text, which may be a password
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new ProductError(
    'VOLUME_MOUNT_INVALID',
    'what was given as the answer to a bind is no JSON object; give it as the broker sent it',
  );
}

function shareOf(mount: Fields): BoundShare {
  const device = mount.nested('device');
  const [driver, mode] = [mount.text('driver'), mount.text('mode')];
  if (mode !== 'r' && mode !== 'rw') mount.fault('mode', 'must be r or rw');
  const folder = containerDir.parse(mount.text('container_dir'));
  if ('fault' in folder) mount.fault('container_dir', folder.fault);
  return {
    driver,
    volumeId: device.text('volume_id'),
    containerDir: 'value' in folder ? String(folder.value) : '',
    isReadOnly: mode === 'r',
    config: device.map('mount_config'),
  };
}
