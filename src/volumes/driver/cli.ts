import { statSync } from 'node:fs';
import { ProductError } from '../../errors/product-error.ts';
import { type DriverConfig, parseDriverConfig } from './config.ts';
import { driverLog } from './log.ts';
import { createLdapIdResolver, parseLdapSettings, type ResolveIds } from './ldap.ts';
import type { Mounter } from './mount/mounter.ts';
import { bindMounter } from './mount/bind-mounter.ts';
import { ShareMounter } from './mount/share-mounter.ts';
import { startDriver } from './start-driver.ts';

/** The environment, output and stop signal of the command. */
interface DriverRunPorts {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  /** Aborted when the driver has to stop. Its mounts stay. */
  readonly signal: AbortSignal;
}

/**
 * Runs a volume driver, with the flags of the old drivers, until `signal` is aborted or the driver is
 * evacuated.
 */
export async function runDriver(args: readonly string[], ports: DriverRunPorts): Promise<number> {
  const { environment, out, signal } = ports;
  const config = parseDriverConfig(args);
  const idsOf = config.protocol === 'nfs' ? createIdResolver(environment) : undefined;
  checkCanMount(config);
  const driver = await startDriver(config, { ...createMounter(config, out), idsOf, out });
  await Promise.race([driver.evacuated, aborted(signal)]);
  await driver.stop();
  return 0;
}

function createIdResolver(environment: DriverRunPorts['environment']): ResolveIds | undefined {
  const problems: string[] = [];
  const settings = parseLdapSettings(environment, problems);
  if (problems.length > 0)
    throw new ProductError('DRIVER_CONFIG_INVALID', `volumes driver does not start: ${problems.join('; ')}`);
  return settings && createLdapIdResolver(settings);
}

function createMounter(
  { protocol, bindSource, mapfsPath, sameServers, deadlines }: DriverConfig,
  out: DriverRunPorts['out'],
): { mounter: Mounter; replacement?: string } {
  if (bindSource !== undefined)
    return { mounter: bindMounter(bindSource), replacement: `local bind from ${bindSource}, no share` };
  const log = driverLog(out, { source: `${protocol}-driver-server`, now: () => new Date() });
  return {
    mounter: new ShareMounter({
      mountSeconds: deadlines.mount / 1000,
      // one third for each of three steps: plain, forced, lazy
      unmountSeconds: deadlines.unmount / 3000,
      sameServers,
      note: (text) => log.info('mount', { note: text }),
      ...(mapfsPath !== undefined && { mapfsPath }),
    }),
  };
}

/** Rejects a configuration with which the driver would start but each mount would fail. */
function checkCanMount({ bindSource }: DriverConfig): void {
  if (process.geteuid?.() !== 0)
    throw new ProductError(
      'NOT_SUPPORTED',
      'volumes driver must run as root, because it mounts; run it with sudo',
    );
  if (bindSource === undefined || statSync(bindSource, { throwIfNoEntry: false })?.isDirectory() === true)
    return;
  const message = `'${bindSource}' of -bindFrom is not a directory: create it, with one directory in it for each share`;
  throw new ProductError('DRIVER_CONFIG_INVALID', message);
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}
