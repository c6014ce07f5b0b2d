import { driverVersion } from '../drivers.ts';
import type { Driver } from '../drivers.ts';
import type { Handlers } from '../grpc/serve.ts';

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
