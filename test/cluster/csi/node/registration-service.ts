import { driverVersion } from '../drivers.ts';
import type { Driver } from '../drivers.ts';
import type { Handlers } from '../grpc/serve.ts';

/**
 * pluginregistration.Registration: the kubelet finds its socket in plugins_registry and asks where the driver is
 * (what node-driver-registrar does elsewhere). `onStatus` hears whether the kubelet took it.
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
