import { Counter, Histogram, Registry } from 'prom-client';
import { MountError } from './mount/mount-error.ts';

/** What /metrics of the admin address shows. */
export interface DriverMetrics {
  readonly contentType: string;
  text(): Promise<string>;
  mounted(seconds: number): void;
  mountFailed(error: unknown): void;
  unmounted(seconds: number): void;
  unmountFailed(error: unknown): void;
}

/** The metrics of one driver. */
export function driverMetrics(): DriverMetrics {
  const registry = new Registry();
  const registers = [registry];
  const histogram = (name: string, help: string): Histogram =>
    new Histogram({ name, help, registers, buckets: [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60] });
  const errors = (name: string, help: string): Counter<'code'> =>
    new Counter({ name, help, registers, labelNames: ['code'] });
  const mounts = histogram('volume_driver_mount_duration_seconds', 'Mounts that succeeded');
  const unmounts = histogram('volume_driver_unmount_duration_seconds', 'Unmounts that succeeded');
  const mountErrors = errors('volume_driver_mount_errors_total', 'Mounts that failed, by code');
  const unmountErrors = errors('volume_driver_unmount_errors_total', 'Unmounts that failed, by code');
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    mounted: (seconds) => mounts.observe(seconds),
    mountFailed: (error) => mountErrors.inc({ code: codeOf(error) }),
    unmounted: (seconds) => unmounts.observe(seconds),
    unmountFailed: (error) => unmountErrors.inc({ code: codeOf(error) }),
  };
}

const codeOf = (error: unknown): string => (error instanceof MountError ? error.code : 'INTERNAL');
