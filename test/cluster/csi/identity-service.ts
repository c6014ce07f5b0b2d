import { mayGrowMounted } from './devices.ts';
import { driverVersion, type Driver } from './drivers.ts';
import type { Handlers } from './grpc.ts';

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

/**
 * pluginregistration.Registration: the kubelet finds this socket in plugins_registry and requests the
 * driver's path. (Elsewhere node-driver-registrar does this.) `onStatus` receives whether the kubelet
 * accepted the registration.
 */
export function registrationService(
  driver: Driver,
  endpoint: string,
  onStatus: (error: string | undefined) => void,
): Handlers {
  return {
    GetInfo: () =>
      Promise.resolve({
        type: 'CSIPlugin',
        name: driver.name,
        endpoint,
        supportedVersions: [driverVersion],
      }),
    NotifyRegistrationStatus: (status: { pluginRegistered: boolean; error: string }) => {
      onStatus(status.pluginRegistered ? undefined : status.error);
      return Promise.resolve({});
    },
  };
}
