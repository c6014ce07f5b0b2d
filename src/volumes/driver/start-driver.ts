import { readFile } from 'node:fs/promises';
import { type RequestListener, type Server, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { ProductError } from '../../errors/product-error.ts';
import { takeFileLock } from '../../platform/file-lock.ts';
import { ensurePrivateDirectory } from '../../platform/private-directory.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import { type PublicKeys, readPublicKeys } from '../signature/signature-keys.ts';
import type { DriverConfig } from './config.ts';
import { driverLog } from './driver-log.ts';
import { adminRequestHandler } from './http/admin-server.ts';
import { pluginRequestHandler } from './http/driver-server.ts';
import { closeServer, listenTcp, listenUnix } from './http/listen.ts';
import { tlsOptions } from './http/tls-options.ts';
import { readPem } from './read-pem.ts';
import type { ResolveIds } from './ldap/resolve-ids.ts';
import { driverMetrics } from './metrics.ts';
import { makeMountFolder } from './mount-folder.ts';
import type { Mounter } from './mount/mounter.ts';
import { type ResolveMountDependencies, resolveMount, verifyOptions } from './resolve-order.ts';
import { writeSpecFile } from './spec-file.ts';
import { StateStore } from './state/state-store.ts';
import { drain } from './volumes/drain.ts';
import { recover } from './volumes/recover.ts';
import { openCredhub } from './trust/open-credhub.ts';
import { VolumeDriver } from './volumes/volume-driver.ts';
import { VolumeMounts } from './volumes/volume-mounts.ts';
import { startWatchdog } from './volumes/watchdog.ts';

/** A driver that accepts requests. */
export interface RunningDriver {
  /** `host:port`, or the path of a socket. */
  readonly address: string;
  readonly adminAddress: string;
  /** Resolves when the driver was evacuated and has to stop. */
  readonly evacuated: Promise<void>;
  /** Finishes requests that have begun, and keeps the mounts. */
  stop(): Promise<void>;
}

export interface DriverPorts {
  readonly mounter: Mounter;
  /** The description of the mounter, if it does not mount real shares. */
  readonly standIn?: string | undefined;
  /** Looks up the ids of an NFS user in the directory. If absent, the options contain the ids. */
  readonly idsOf?: ResolveIds | undefined;
  readonly out: (line: string) => void;
}

/** Milliseconds for open requests when the driver stops. */
const shutdownTimeoutMs = 10_000;

/** Starts a driver. Recovers existing mounts before it accepts requests. */
export async function startDriver(config: DriverConfig, ports: DriverPorts): Promise<RunningDriver> {
  const source = `${config.protocol}-driver-server`;
  const log = driverLog(ports.out, { source, now: () => new Date(), standIn: ports.standIn });
  // the directory must not be writable by others: they could replace a directory by a link while a secret is
  // read
  if (config.secretFiles !== undefined) await ensurePrivateDirectory(config.secretFiles);
  const folder = await makeMountFolder(config.mountDir);
  const lockName = parsePathSegment('lock');
  const lock = lockName && (await takeFileLock(folder.stateDirectory, lockName));
  if (lock === undefined)
    throw new ProductError(
      'DRIVER_CONFIG_INVALID',
      `another volume driver runs on '${config.mountDir}'; stop it first`,
    );
  const stops: (() => Promise<void> | void)[] = [() => lock.release(), () => log.info('stopped')];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).toReversed()) await each();
  };
  try {
    const metrics = driverMetrics();
    const credhub = config.credhub === undefined ? undefined : await openCredhub(config.credhub);
    stops.push(() => credhub?.client.close());
    const orders: ResolveMountDependencies = {
      protocol: config.protocol,
      forcedFlags: config.forcedFlags,
      signatures: { mode: config.signatures, keys: await keysOf(config) },
      secrets: { filePrefix: config.secretFiles, credhub },
      log,
      metrics,
      resolveIds: ports.idsOf,
    };
    const mounts = new VolumeMounts({
      mounter: ports.mounter,
      store: new StateStore(folder.stateDirectory),
      resolveOrder: (name, options, signal) => resolveMount(orders, name, options, signal),
      verifyOptions: (name, options) => void verifyOptions(orders, name, options),
      mountDir: folder.path,
      bootId: (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim(),
      deadlines: config.deadlines,
      log,
      metrics,
      clock: () => performance.now(),
    });
    const { done } = await recover(mounts);
    let stopWatchdog = (): Promise<void> => Promise.resolve();
    stops.push(async () => {
      mounts.stop();
      await Promise.all([done, stopWatchdog()]);
    });
    let removeSpec = (): Promise<void> => Promise.resolve();
    const evacuation = Promise.withResolvers<void>();
    const evacuate = async (): Promise<string> => {
      await removeSpec();
      const left = await drain(mounts);
      evacuation.resolve();
      return left;
    };
    const admin = createServer(adminRequestHandler({ evacuate, metrics, log }));
    const adminAddress = await listenTcp(admin, config.admin);
    stops.push(() => closeServer(admin, shutdownTimeoutMs));
    const server = await serverOf(config, pluginRequestHandler(new VolumeDriver(mounts), log));
    const address = await listen(config, server);
    stops.push(() => closeServer(server, shutdownTimeoutMs));
    removeSpec = await writeSpecFile(config, address);
    stops.push(removeSpec);
    stopWatchdog = startWatchdog(mounts, config.watchIntervalMs);
    log.info('started', { address, admin: adminAddress });
    return { address, adminAddress, evacuated: evacuation.promise, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function keysOf({ signatureKeys }: DriverConfig): Promise<PublicKeys> {
  if (signatureKeys === undefined) return new Map();
  const keys = readPublicKeys(await readPem('signatureKeys', signatureKeys));
  if ('fault' in keys)
    throw new ProductError('DRIVER_CONFIG_INVALID', `'${signatureKeys}' of -signatureKeys ${keys.fault}`);
  return keys;
}

async function serverOf({ tls }: DriverConfig, requests: RequestListener): Promise<Server> {
  return tls === undefined ? createServer(requests) : createTlsServer(await tlsOptions(tls), requests);
}

async function listen({ transport }: DriverConfig, server: Server): Promise<string> {
  if (transport.kind === 'tcp') return listenTcp(server, transport.listen);
  await listenUnix(server, transport.path);
  return transport.path;
}
