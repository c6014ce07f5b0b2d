import { createHash, createHmac } from 'node:crypto';
import { isSignable, type SigningKey, signVolumeId } from '../signature/signed-volume-id.ts';
import type { Offering } from './offerings/offering.ts';
import { type Options, toMountConfig } from './offerings/option-table.ts';
import type { VolumeMount } from './store/broker-store.ts';

/** The digest of an id: an HMAC with a key of the operator, or the md5 of the old brokers. */
type DigestScheme = { readonly hmacKey: Buffer } | 'md5';

/** The way in which volume ids are made: by a digest or by a signature. */
export type VolumeIdScheme = DigestScheme | { readonly signingKey: SigningKey };

/**
 * Returns the id of a volume. Bindings of the same instance with the same options have the same id. The md5
 * id includes the password of the share, so that anyone who can see the id can brute-force the password. Use
 * it only while volumes of an old broker are mounted on the cells.
 */
export function createVolumeId(
  instanceId: string,
  mountOptions: Readonly<Record<string, string>>,
  scheme: DigestScheme,
): string {
  const text = stringifyLikeGo(mountOptions);
  const digest =
    scheme === 'md5'
      ? createHash('md5').update(text).digest('hex')
      : createHmac('sha256', scheme.hmacKey).update(`${instanceId}\n${text}`).digest('hex').slice(0, 32);
  return `${instanceId}-${digest}`;
}

/**
 * Returns an object of strings as Go's encoding/json writes a map: the keys in byte order, and < > & U+2028
 * U+2029 escaped.
 */
export function stringifyLikeGo(object: Readonly<Record<string, string>>): string {
  const keys = Object.keys(object).toSorted((one, other) =>
    Buffer.compare(Buffer.from(one), Buffer.from(other)),
  );
  const members = keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(object[key])}`);
  return `{${members.join(',')}}`.replaceAll(
    /[<>&\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The instance and the app that a volume belongs to. */
interface VolumeSubject {
  readonly instanceId: string;
  readonly appGuid: string;
}

export function hasSignableIds({ instanceId, appGuid }: VolumeSubject, scheme: VolumeIdScheme): boolean {
  if (scheme === 'md5' || 'hmacKey' in scheme) return true;
  return isSignable(instanceId) && isSignable(appGuid);
}

export const unsignableIdError =
  'a signed volume id needs ids of instance and app of at most 36 letters, digits and dashes, as GUIDs are';

/**
 * Returns the volume mount of a binding. Signed mounts always contain `mount`, because the driver verifies it
 * against the id.
 */
export function buildVolumeMount(
  { driver, table }: Offering,
  { instanceId, appGuid }: VolumeSubject,
  options: Options,
  scheme: VolumeIdScheme,
): VolumeMount {
  const containerDir = String(options['mount'] ?? `/var/vcap/data/${instanceId}`);
  const mode = options['readonly'] === true ? 'r' : 'rw';
  const mountOptions = toMountConfig(table, options);
  const common = { driver, container_dir: containerDir, mode, device_type: 'shared' } as const;
  if (scheme === 'md5' || 'hmacKey' in scheme)
    return {
      ...common,
      device: { volume_id: createVolumeId(instanceId, mountOptions, scheme), mount_config: mountOptions },
    };
  const signed = { ...mountOptions, mount: containerDir };
  const id = signVolumeId({ instanceId, appGuid, containerDir, mode }, signed, scheme.signingKey);
  return { ...common, device: { volume_id: id, mount_config: signed } };
}
