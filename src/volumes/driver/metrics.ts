import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { MountError } from './mount/mount-error.ts';
import type { MountHealth } from './mount/mounter.ts';

/** The metrics that /metrics of the admin address returns. */
export interface DriverMetrics {
  readonly contentType: string;
  text(): Promise<string>;
  mounted(seconds: number): void;
  mountFailed(error: unknown): void;
  unmounted(seconds: number): void;
  unmountFailed(error: unknown): void;
  probed(seconds: number): void;
  /** Sets the number of mounts in use by health, as the watchdog found them. */
  watched(health: Readonly<Record<MountHealth, number>>): void;
  /**
   * Counts mounts that the watchdog made again, because the previous mount was missing or dead, and attempts
   * that failed.
   */
  remounted(result: 'mounted' | 'failed'): void;
  /** Counts mounts of a signed volume for a workload whose guid does not begin with the guid of the app. */
  otherWorkload(): void;
}

/** Returns the metrics of one driver. */
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
  const probes = histogram('volume_driver_probe_duration_seconds', 'Probes of mounts by the watchdog');
  const mountsByHealth = new Gauge({
    name: 'volume_driver_mounts',
    help: 'Mounts in use when the watchdog last looked, by health',
    registers,
    labelNames: ['health'],
  });
  const remounts = new Counter({
    name: 'volume_driver_remounts_total',
    help: 'Dead mounts that the watchdog tried to replace, by result. Running containers keep the dead mount until their app is restarted',
    registers,
    labelNames: ['result'],
  });
  const otherWorkloads = new Counter({
    name: 'volume_driver_other_workloads_total',
    help: 'Mounts of signed volumes for a workload that does not have the guid of the bound app, such as a task',
    registers,
  });
  for (const result of ['mounted', 'failed'] as const) remounts.inc({ result }, 0);
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    mounted: (seconds) => mounts.observe(seconds),
    mountFailed: (error) => mountErrors.inc({ code: codeOf(error) }),
    unmounted: (seconds) => unmounts.observe(seconds),
    probed: (seconds) => probes.observe(seconds),
    watched: (health) => {
      for (const [name, count] of Object.entries(health)) mountsByHealth.set({ health: name }, count);
    },
    otherWorkload: () => otherWorkloads.inc(),
    remounted: (result) => remounts.inc({ result }),
    unmountFailed: (error) => unmountErrors.inc({ code: codeOf(error) }),
  };
}

const codeOf = (error: unknown): string => (error instanceof MountError ? error.code : 'INTERNAL');
