import { CsiError } from '../grpc/csi-error.ts';
import type { AccessModeName, VolumeCapability } from '../grpc/messages.ts';

/** Only one node at a time: two would be two kernels with a file system each on the same blocks. */
const supportedModes: readonly AccessModeName[] = [
  'SINGLE_NODE_WRITER',
  'SINGLE_NODE_READER_ONLY',
  'SINGLE_NODE_SINGLE_WRITER',
  'SINGLE_NODE_MULTI_WRITER',
];
const flagGrammar = /^[a-z][a-z0-9_]*(=[A-Za-z0-9_.:/-]+)?$/;

/** Returns why volumes of this driver cannot be used in this way, or undefined if they can. */
export function refusalOf(capability: VolumeCapability): string | undefined {
  const mode = capability.accessMode?.mode ?? 'UNKNOWN';
  if (capability.mount === undefined || capability.mount === null) {
    return 'the driver makes file systems only, no raw block volumes';
  }
  if (!supportedModes.includes(mode))
    return `access mode ${mode} is not supported: a volume is on one node at a time`;
  const type = capability.mount.fsType ?? '';
  if (type !== '' && type !== 'ext4') return `the driver makes ext4 only, not ${type}`;
  const flag = (capability.mount.mountFlags ?? []).find((each) => !flagGrammar.test(each));
  return flag === undefined ? undefined : `${JSON.stringify(flag)} is no mount option`;
}

/** Throws INVALID_ARGUMENT if `refusalOf` returns a reason, and if there are no capabilities. */
export function requireCapabilities(capabilities: readonly (VolumeCapability | null | undefined)[]): void {
  if (capabilities.length === 0) throw new CsiError('INVALID_ARGUMENT', 'a volume capability is missing');
  for (const capability of capabilities) {
    const refusal = capability ? refusalOf(capability) : 'a volume capability is missing';
    if (refusal !== undefined) throw new CsiError('INVALID_ARGUMENT', refusal);
  }
}

export function modeOf(capability: VolumeCapability | null | undefined): AccessModeName {
  return capability?.accessMode?.mode ?? 'UNKNOWN';
}
