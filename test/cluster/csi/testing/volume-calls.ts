import type { CsiClient } from '../grpc.ts';
import type { CsiVolume, VolumeContentSource } from '../messages.ts';
import type { NodeFixture } from './drivers-fixture.ts';

export const mebibyte = 1024 * 1024;
const volumeCapability = { mount: { fsType: 'ext4' }, accessMode: { mode: 'SINGLE_NODE_WRITER' } };

/** Returns the request of the provisioner. */
export function createRequest(name: string, mebibytes: number, source?: VolumeContentSource): object {
  return {
    name,
    capacityRange: { requiredBytes: String(mebibytes * mebibyte) },
    volumeCapabilities: [volumeCapability],
    ...(source !== undefined && { volumeContentSource: source }),
  };
}

export async function createVolume(
  controller: CsiClient,
  name: string,
  mebibytes: number,
  source?: VolumeContentSource,
): Promise<CsiVolume> {
  const request = createRequest(name, mebibytes, source);
  return (await controller.call<{ volume: CsiVolume }>('CreateVolume', request)).volume;
}

/** One call on a volume's way to a pod or back. */
export interface Step {
  readonly service: 'controller' | 'node';
  readonly method: string;
  readonly request: object;
}

export function stepsUp({ id, ...node }: NodeFixture, volumeId: string): Step[] {
  const stagingTargetPath = node.staging(volumeId);
  const common = { volumeId, stagingTargetPath, volumeCapability };
  return [
    {
      service: 'controller',
      method: 'ControllerPublishVolume',
      request: { volumeId, nodeId: id, volumeCapability },
    },
    { service: 'node', method: 'NodeStageVolume', request: common },
    {
      service: 'node',
      method: 'NodePublishVolume',
      request: { ...common, targetPath: node.target(volumeId) },
    },
  ];
}

export function stepsDown({ id, ...node }: NodeFixture, volumeId: string): Step[] {
  return [
    {
      service: 'node',
      method: 'NodeUnpublishVolume',
      request: { volumeId, targetPath: node.target(volumeId) },
    },
    {
      service: 'node',
      method: 'NodeUnstageVolume',
      request: { volumeId, stagingTargetPath: node.staging(volumeId) },
    },
    { service: 'controller', method: 'ControllerUnpublishVolume', request: { volumeId, nodeId: id } },
  ];
}

/** Makes these calls one after the other. */
export async function take(steps: readonly Step[], controller: CsiClient, node: CsiClient): Promise<void> {
  for (const { service, method, request } of steps) {
    await (service === 'node' ? node : controller).call(method, request);
  }
}
