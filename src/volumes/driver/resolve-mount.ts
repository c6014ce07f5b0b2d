import { directoryPassword, smbPassword } from '../options/option-types.ts';
import { parseSecretReference } from '../signature/secret-reference.ts';
import type { DriverLog } from './log.ts';
import type { ResolveIds } from './ldap.ts';
import type { DriverMetrics } from './metrics.ts';
import { MountError } from './mount/mount-error.ts';
import type { MountSpec } from './mount/mount-command.ts';
import { type OperatorFlags, parseMountConfig } from './parse-mount-config.ts';
import { readSecret, type SecretSources } from './secrets.ts';
import type { CreateOptions } from './volume-mounts.ts';
import { volumeIdIn, type VolumeName } from '../options/volume-name.ts';
import { type PublicKeys, verifyVolumeId } from '../signature/signed-volume-id.ts';

export interface ResolveMountDependencies {
  readonly protocol: 'nfs' | 'smb';
  readonly forcedFlags: OperatorFlags;
  readonly signatures: SignaturePolicy;
  readonly secrets: SecretSources;
  readonly log: DriverLog;
  readonly metrics: DriverMetrics;
  /** Looks up the ids of a user in the directory. Absent if there is no directory. */
  readonly resolveIds?: ResolveIds | undefined;
}

/**
 * Returns the mount that the options of a volume specify, with its secrets. Rejects with MountError if the
 * options are invalid, a required signature is missing, or a secret cannot be read.
 */
export async function resolveMount(
  ports: ResolveMountDependencies,
  name: VolumeName,
  options: CreateOptions,
  signal: AbortSignal,
): Promise<MountSpec> {
  const { protocol, forcedFlags, secrets, log, resolveIds } = ports;
  const check = verifyOptions(ports, name, options);
  const optionsProblem =
    protocol === 'nfs' ? problemOfOptions(options, resolveIds !== undefined, check.isSigned) : '';
  if (optionsProblem !== '') throw new MountError('INVALID_OPTION', optionsProblem);
  const parsed = parseMountConfig(protocol, options, forcedFlags);
  if ('problem' in parsed) throw new MountError('INVALID_OPTION', parsed.problem);
  const resolvePassword = async (password: string): Promise<string> => {
    const reference = parseSecretReference(password);
    if (reference === undefined) return password;
    if (!check.isSigned)
      throw new MountError('NOT_SIGNED', `its password is a reference, and ${check.reason}`);
    const type = protocol === 'smb' ? smbPassword : directoryPassword;
    const read = type.parse(await readSecret(reference, { sources: secrets, log, signal }));
    if ('value' in read) return String(read.value);
    throw new MountError('SECRET_UNAVAILABLE', `the password at the reference ${read.problem}`);
  };
  const { spec, login } = parsed;
  if (spec.kind === 'smb') return { ...spec, password: await resolvePassword(spec.password) };
  if (login === undefined || resolveIds === undefined) return spec;
  return {
    ...spec,
    ids: await resolveIds({ ...login, password: await resolvePassword(login.password) }, signal),
  };
}

/** Throws NOT_SIGNED if the policy requires a signature and the options do not have it. */
export function verifyOptions(
  { signatures, log, metrics }: Pick<ResolveMountDependencies, 'signatures' | 'log' | 'metrics'>,
  name: VolumeName,
  options: CreateOptions,
): SignatureCheck {
  const check = checkSignature(name, options, signatures.keys);
  if (!check.isSigned) {
    if (signatures.mode === 'require') throw new MountError('NOT_SIGNED', check.reason);
    if (signatures.mode === 'log') log.error('not-signed', check.reason, { volume: name });
  } else if (check.otherWorkload !== undefined) {
    metrics.otherWorkload();
    log.info('other-workload', { volume: name, workload: check.otherWorkload });
  }
  return check;
}

/**
 * Returns the problem with the options that name a user of an NFS server, or ''. If the driver has a
 * directory, options that the broker did not sign need the user's password: without it they get neither the
 * ids of a user nor those of root.
 */
function problemOfOptions(options: CreateOptions, hasDirectory: boolean, isSigned: boolean): string {
  const given = (...names: readonly string[]): string =>
    names.filter((name) => options[name] !== undefined).join(', ');
  const [ids, login] = [given('gid', 'uid'), given('password', 'username')];
  if (!hasDirectory)
    return login === ''
      ? ''
      : `- Not allowed options: ${login} (the driver has no LDAP: name uid and gid of a user of the file server in the binding)`;
  if (ids !== '' && (login !== '' || !isSigned))
    return `- Not allowed options: ${ids} (the driver has LDAP: name username and password of a user of the directory in the binding)`;
  if (login === '' && !isSigned)
    return '- Missing mandatory options: username, password (the driver has LDAP: name a user of the directory in the binding)';
  return '';
}

/**
 * The policy for signatures. `require` mounts only signed volumes; `off` and `log` mount all, and `log` logs
 * those that are not signed.
 */
interface SignaturePolicy {
  readonly mode: 'off' | 'log' | 'require';
  readonly keys: PublicKeys;
}

/**
 * The result of a check: the volume is signed, or the reason why it counts as not signed. `otherWorkload` is
 * the cell's workload guid, if it does not show the app of the binding.
 */
type SignatureCheck =
  | { readonly isSigned: true; readonly otherWorkload: string | undefined }
  | { readonly isSigned: false; readonly reason: string };

/**
 * Verifies the signature in a volume's name, and compares the cell's workload with the app of the binding.
 */
function checkSignature(name: VolumeName, options: CreateOptions, keys: PublicKeys): SignatureCheck {
  const signed = verifyVolumeId(volumeIdIn(name), options, keys);
  if ('refused' in signed) return { isSigned: false, reason: signed.reason };
  return { isSigned: true, otherWorkload: workloadMismatch(options['_workload_guid'], signed.appGuid) };
}

/**
 * Returns the workload guid if it does not begin with the guid of the app. Cloud Controller gives the guid of
 * an app only to its first web process: other processes, tasks, and web processes after a rolling deployment
 * have other guids. So another guid does not prove another app, and no mount is rejected for it.
 */
function workloadMismatch(guid: unknown, appGuid: string): string | undefined {
  if (guid === undefined) return undefined;
  const text = typeof guid === 'string' ? guid : JSON.stringify(guid);
  return text === appGuid || text.startsWith(`${appGuid}-`) ? undefined : text.slice(0, 100);
}
