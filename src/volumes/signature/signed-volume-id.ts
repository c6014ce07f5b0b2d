import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { parseSecretReference } from './secret-reference.ts';

/** The mount that a signature covers, apart from the options. */
interface SignedMount {
  readonly instanceId: string;
  readonly appGuid: string;
  readonly containerDir: string;
  readonly mode: 'r' | 'rw';
}

/** The parts of a signed volume id. */
interface SignedVolumeId {
  readonly instanceId: string;
  readonly appGuid: string;
  readonly keyId: string;
  readonly signature: Buffer;
}

/**
 * The reason why a volume counts as not signed. `reason` is for the developer of the app, and contains no
 * secret.
 */
interface SignatureRefusal {
  readonly refused: 'unsigned' | 'unknown key' | 'changed';
  readonly reason: string;
}

type MountConfig = Readonly<Record<string, unknown>>;

/** The length of 64 bytes in base 36. */
const signatureLength = 100;
/**
 * GUIDs of Cloud Foundry. A driver's file name is `<volume id>_<container guid>_mapfs`, 255 bytes at most.
 */
const guid = '[A-Za-z0-9][A-Za-z0-9-]{0,35}';
const form = new RegExp(`^(${guid})\\.s1\\.(${guid})\\.([0-9a-f]{8})\\.([0-9a-z]{${signatureLength}})$`, 'u');
const isGuid = new RegExp(`^${guid}$`, 'u');

/** Returns true if the id of an instance or app can be part of a signed volume id. */
export const isSignable = (id: string): boolean => isGuid.test(id);

/**
 * Returns the signed volume id of a mount, `INSTANCE.s1.APP.KEY.SIGNATURE`: at most 187 letters, digits, dots
 * and dashes. The ids must be `isSignable`. The values of `mountConfig` must be strings; `mount` must be the
 * directory in the container.
 */
export function signVolumeId(mount: SignedMount, mountConfig: MountConfig, { id, key }: SigningKey): string {
  const signature = sign(null, signedText(mount, mountConfig), key);
  return `${mount.instanceId}.s1.${mount.appGuid}.${id}.${toBase36(signature)}`;
}

/** Returns the parts of a signed volume id, or undefined for any other id. */
export function readVolumeId(volumeId: string): SignedVolumeId | undefined {
  const [, instanceId, appGuid, keyId, text] = form.exec(volumeId) ?? [];
  if (instanceId === undefined || appGuid === undefined || keyId === undefined || text === undefined)
    return undefined;
  const signature = fromBase36(text);
  return signature && { instanceId, appGuid, keyId, signature };
}

/**
 * Returns the mount if the broker signed this volume with this configuration, otherwise the reason. The
 * signature does not cover keys that begin with an underscore, which belong to the cell, nor the text of a
 * password; see `signedText`.
 */
export function verifyVolumeId(
  volumeId: string,
  mountConfig: MountConfig,
  keys: PublicKeys,
): SignedMount | SignatureRefusal {
  const parts = readVolumeId(volumeId);
  if (parts === undefined)
    return {
      refused: 'unsigned',
      reason: 'the volume is not signed by the volume broker; bind the app again',
    };
  const key = keys.get(parts.keyId);
  if (key === undefined) {
    const reason = `the volume is signed with key ${parts.keyId}, which the driver does not have; bind the app again`;
    return { refused: 'unknown key', reason };
  }
  const { instanceId, appGuid } = parts;
  const isReadOnly = mountConfig['readonly'] === 'true' || mountConfig['ro'] === 'true';
  const mount: SignedMount = {
    instanceId,
    appGuid,
    containerDir: String(mountConfig['mount']),
    mode: isReadOnly ? 'r' : 'rw',
  };
  if (verify(null, signedText(mount, mountConfig), key, parts.signature)) return mount;
  return {
    refused: 'changed',
    reason: 'the volume differs from the one that the volume broker signed; bind the app again',
  };
}

/**
 * Returns the text to sign: a JSON list, with the options sorted by key. Passwords are replaced by null:
 * otherwise anyone with the public key could brute-force them against the signature. References to secrets
 * are covered, because they decide which secret the driver sends to the server.
 */
function signedText(mount: SignedMount, mountConfig: MountConfig): Buffer {
  const options = Object.entries(mountConfig)
    .filter(([name]) => !name.startsWith('_'))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => [name, isClearPassword(name, value) ? null : value]);
  const { instanceId, appGuid, containerDir, mode } = mount;
  return Buffer.from(JSON.stringify(['volume_id', 1, instanceId, appGuid, containerDir, mode, options]));
}

const isClearPassword = (name: string, value: unknown): boolean =>
  name === 'password' && typeof value === 'string' && parseSecretReference(value) === undefined;

const toBase36 = (bytes: Buffer): string =>
  BigInt(`0x${bytes.toString('hex')}`)
    .toString(36)
    .padStart(signatureLength, '0');

/** Returns undefined for a number of more than 64 bytes. */
function fromBase36(text: string): Buffer | undefined {
  let number = 0n;
  for (const digit of text) number = number * 36n + BigInt(Number.parseInt(digit, 36));
  const hex = number.toString(16).padStart(128, '0');
  return hex.length === 128 ? Buffer.from(hex, 'hex') : undefined;
}

/** The private key of the broker. */
export interface SigningKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** The driver's public keys by their ids. There are several while the broker's key is being replaced. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** Parses the output of `openssl genpkey -algorithm ed25519`. The error does not quote it. */
export function readSigningKey(pem: string): SigningKey | { readonly problem: string } {
  const key = ed25519(() => createPrivateKey(pem));
  if (key === undefined)
    return { problem: 'must be a private key of Ed25519 in PEM: openssl genpkey -algorithm ed25519' };
  return { id: keyId(createPublicKey(key)), key };
}

/** Parses one or more concatenated public keys, each as `openssl pkey -pubout` writes it. */
export function readPublicKeys(pems: string): PublicKeys | { readonly problem: string } {
  const blocks = pems.match(/-----BEGIN PUBLIC KEY-----[^-]*-----END PUBLIC KEY-----/gu) ?? [];
  const rest = blocks.reduce((text, block) => text.replace(block, ''), pems);
  const keys = blocks.map((pem) => ed25519(() => createPublicKey(pem)));
  const read = keys.filter((key) => key !== undefined);
  if (read.length === 0 || read.length < keys.length || rest.trim() !== '')
    return { problem: 'must have public keys of Ed25519 in PEM, and nothing else: openssl pkey -pubout' };
  return new Map(read.map((key) => [keyId(key), key]));
}

function ed25519(read: () => KeyObject): KeyObject | undefined {
  try {
    const key = read();
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    // OpenSSL's error for text that is not a key may quote the text
    return undefined;
  }
}

/**
 * Returns the id of a key. It is short, because it becomes part of a file name. A collision is harmless:
 * verification fails.
 */
const keyId = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
    .slice(0, 8);
