import { directoryPassword } from '../options/mount-values.ts';
import { parseSecretReference } from '../signature/secret-reference.ts';
import type { DriverLog } from './driver-log.ts';
import type { ResolveIds } from './ldap/resolve-ids.ts';
import type { DriverMetrics } from './metrics.ts';
import { MountError } from './mount/mount-error.ts';
import type { MountOrder } from './mount/mount-order.ts';
import type { ForcedFlags } from './options/parse-mount-request.ts';
import { parseMountRequest } from './options/parse-mount-request.ts';
import type { SignaturePolicy } from './trust/check-signature.ts';
import { checkSignature } from './trust/check-signature.ts';
import type { SecretPlaces } from './trust/read-secret.ts';
import { readSecret } from './trust/read-secret.ts';
import type { CreateOptions } from './volumes/volume.ts';
import type { VolumeName } from './volumes/volume-name.ts';

export interface OrderPorts {
  readonly protocol: 'nfs' | 'smb';
  readonly forcedFlags: ForcedFlags;
  readonly signatures: SignaturePolicy;
  readonly secrets: SecretPlaces;
  readonly log: DriverLog;
  readonly metrics: DriverMetrics;
  /** Asks the directory for a user's ids; absent: there is none. */
  readonly idsOf?: ResolveIds | undefined;
}

/**
 * What the options of a volume ask to mount, with its secrets. Rejects with MountError where they are wrong,
 * not signed as they have to be, or a secret cannot be had.
 */
export async function resolveOrder(
  { protocol, forcedFlags, signatures, secrets, log, metrics, idsOf }: OrderPorts,
  name: VolumeName,
  options: CreateOptions,
  signal: AbortSignal,
): Promise<MountOrder> {
  const check = checkSignature(name, options, signatures.keys);
  if (check.isSigned) {
    const { otherWorkload } = check;
    if (otherWorkload !== undefined) {
      metrics.otherWorkload();
      log.info('other-workload', { volume: name, workload: otherWorkload });
    }
  } else {
    if (signatures.mode === 'require') throw new MountError('NOT_SIGNED', check.why);
    if (signatures.mode === 'log') log.error('not-signed', check.why, { volume: name });
  }
  const parsed = parseMountRequest(protocol, options, forcedFlags);
  if ('fault' in parsed) throw new MountError('INVALID_OPTION', parsed.fault);
  const secretOf = async (password: string): Promise<string> => {
    const reference = parseSecretReference(password);
    if (reference === undefined) return password;
    if (!check.isSigned) throw new MountError('NOT_SIGNED', `its password is a reference, and ${check.why}`);
    const read = directoryPassword.parse(await readSecret(reference, { places: secrets, log, signal }));
    if ('value' in read) return String(read.value);
    throw new MountError('SECRET_UNAVAILABLE', `the password at the reference ${read.fault}`);
  };
  const { order, login } = parsed;
  if (order.kind === 'smb') return { ...order, password: await secretOf(order.password) };
  if (login === undefined) return order;
  if (idsOf === undefined)
    throw new MountError(
      'INVALID_OPTION',
      '- Not allowed options: password, username (the driver has no LDAP)',
    );
  return { ...order, ids: await idsOf({ ...login, password: await secretOf(login.password) }, signal) };
}
