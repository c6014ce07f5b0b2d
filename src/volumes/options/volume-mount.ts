import { ProductError } from '../../errors/product-error.ts';
import { containerDir } from './share.ts';
import { type JsonObject, isObject, tryParseJson } from '../../platform/json.ts';
import { Fields } from '../../platform/fields.ts';

/** A volume of an app in the response to a bind (OSBAPI 2.17, Volume Mounts Object). */
export interface VolumeMount {
  readonly driver: string;
  readonly volumeId: string;
  /** An absolute path without `.` and `..`. It may still lead through links in the container. */
  readonly containerDir: string;
  readonly isReadOnly: boolean;
  /** The options for the driver. They may contain a password. */
  readonly config: JsonObject;
}

const maxLength = 4096;

/**
 * Parses the response to a bind, or a list of such responses, in JSON. Throws VOLUME_MOUNT_INVALID with all
 * errors. It is an error if two mounts have the same directory of the container, or one is inside the other:
 * Cloud Controller also passes the mounts of superseded bindings, and the mount order would decide which one
 * the app sees.
 */
export function parseVolumeMounts(text: string): readonly VolumeMount[] {
  const problems: string[] = [];
  const volumes = parseBindResponses(text).flatMap((answer, index) =>
    new Fields(answer, index === 0 ? '' : `[${index}].`, problems, maxLength)
      .objects('volume_mounts')
      .map((mount) => volumeOf(mount)),
  );
  if (problems.length === 0) problems.push(...overlappingMounts(volumes));
  if (problems.length === 0) return volumes;
  throw new ProductError(
    'VOLUME_MOUNT_INVALID',
    `the volume_mounts are invalid, nothing was done: ${problems.join('; ')}. Give the response to the bind as the broker sent it, or unbind the app and bind it again`,
  );
}

function parseBindResponses(text: string): readonly JsonObject[] {
  const value = tryParseJson(text);
  const responses: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (responses.every(isObject)) return responses;
  throw new ProductError(
    'VOLUME_MOUNT_INVALID',
    'the response to a bind must be a JSON object or a list of JSON objects; give it as the broker sent it',
  );
}

function volumeOf(mount: Fields): VolumeMount {
  const device = mount.nested('device');
  const [driver, mode, kind] = [mount.text('driver'), mount.text('mode'), mount.text('device_type')];
  if (mode !== 'r' && mode !== 'rw') mount.report('mode', 'must be r or rw');
  if (kind !== 'shared') mount.report('device_type', 'must be shared');
  const directory = containerDir.parse(mount.text('container_dir'));
  if ('problem' in directory) mount.report('container_dir', directory.problem);
  return {
    driver,
    volumeId: device.text('volume_id'),
    containerDir: 'value' in directory ? String(directory.value) : '',
    isReadOnly: mode === 'r',
    config: device.map('mount_config'),
  };
}

function overlappingMounts(volumes: readonly VolumeMount[]): readonly string[] {
  const sorted = volumes.toSorted((one, other) =>
    `${one.containerDir}/` < `${other.containerDir}/` ? -1 : 1,
  );
  return sorted.flatMap((volume, index) => {
    const before = sorted[index - 1];
    if (before === undefined || !`${volume.containerDir}/`.startsWith(`${before.containerDir}/`)) return [];
    const where =
      before.containerDir === volume.containerDir
        ? `are both for ${volume.containerDir}`
        : `are one inside the other, at ${before.containerDir} and ${volume.containerDir}`;
    return [`volumes ${before.volumeId} and ${volume.volumeId} ${where}: keep the binding that the app uses`];
  });
}
