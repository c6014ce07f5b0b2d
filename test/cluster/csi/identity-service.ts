import { mayGrowMounted } from './device/ext4.ts';
import { driverVersion } from './drivers.ts';
import type { Driver } from './drivers.ts';
import type { Handlers } from './grpc/serve.ts';

/** csi.v1.Identity. */
export function identityService(driver: Driver): Handlers {
  const capabilities = async (): Promise<object[]> => [
    { service: { type: 'CONTROLLER_SERVICE' } },
    ...(driver.isZonal ? [{ service: { type: 'VOLUME_ACCESSIBILITY_CONSTRAINTS' } }] : []),
    ...(driver.canExpand
      ? [{ volumeExpansion: { type: (await mayGrowMounted()) ? 'ONLINE' : 'OFFLINE' } }]
      : []),
  ];
  return {
    GetPluginInfo: () => Promise.resolve({ name: driver.name, vendorVersion: driverVersion }),
    GetPluginCapabilities: async () => ({ capabilities: await capabilities() }),
    Probe: () => Promise.resolve({ ready: { value: true } }),
  };
}
