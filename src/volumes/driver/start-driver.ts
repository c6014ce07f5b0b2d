import { readFile } from 'node:fs/promises';
import { type RequestListener, type Server, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { ProductError } from '../../errors/product-error.ts';
import { takeFileLock, type FileLock } from '../../platform/file-lock.ts';
import { ensurePrivateDirectory } from '../../platform/private-directory.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import { type PublicKeys, readPublicKeys } from '../signature/signed-volume-id.ts';
import type { DriverConfig } from './config.ts';
import { driverLog } from './log.ts';
import { adminRequestHandler, pluginRequestHandler } from './http/server.ts';
import { closeServer, listenTcp, listenUnix, tlsOptions } from './http/listen.ts';
import { openCredhub, readPem } from './secrets.ts';
import type { ResolveIds } from './ldap.ts';
import { driverMetrics } from './metrics.ts';
import { makeMountDirectory, type MountDirectory } from './mount-directory.ts';
import type { Mounter } from './mount/mounter.ts';
import { type ResolveMountDependencies, resolveMount, verifyOptions } from './resolve-mount.ts';
import { writeSpecFile } from './spec-file.ts';
import { VolumeStore } from './volume-store.ts';
import { drain } from './drain.ts';
import { recover } from './recovery.ts';
import { VolumeDriver } from './volume-driver.ts';
import { VolumeMounts } from './volume-mounts.ts';
import { startWatchdog } from './watchdog.ts';

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

interface DriverPorts {
  readonly mounter: Mounter;
  /** The description of the mounter, if it does not mount real shares. */
  readonly replacement?: string | undefined;
  /** Looks up the ids of an NFS user in the directory. If absent, the options contain the ids. */
  readonly idsOf?: ResolveIds | undefined;
  readonly out: (line: string) => void;
  /** Returns the deadline of a drain, which aborts after that many milliseconds. */
  readonly drainDeadline?: (milliseconds: number) => AbortSignal;
}

/** Milliseconds for open requests when the driver stops. */
const shutdownTimeoutMs = 10_000;

/** Starts a driver. Recovers existing mounts before it accepts requests. */
export async function startDriver(config: DriverConfig, ports: DriverPorts): Promise<RunningDriver> {
  const source = `${config.protocol}-driver-server`;
  const log = driverLog(ports.out, { source, now: () => new Date(), replacement: ports.replacement });
  const metrics = driverMetrics();
  const directory = await lockMountDirectory(config);
  const stops: Stops = [() => directory.lock.release(), () => log.info('stopped')];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).toReversed()) await each();
  };
  try {
    const mounts = await openMounts(config, { ...ports, directory, log, metrics }, stops);
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
      const { drainDeadline: deadlineAfter = (each) => AbortSignal.timeout(each) } = ports;
      const failures = await drain(mounts, deadlineAfter(config.deadlines.drain));
      evacuation.resolve();
      return failures;
    };
    const admin = createServer(adminRequestHandler({ evacuate, metrics, log }));
    const adminAddress = await listenTcp(admin, config.admin);
    stops.push(() => closeServer(admin, shutdownTimeoutMs));
    const server = await createPluginServer(config, pluginRequestHandler(new VolumeDriver(mounts), log));
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

/** The functions that stop the parts of a driver. They run in reverse order. */
type Stops = (() => Promise<void> | void)[];

type LockedDirectory = MountDirectory & { readonly lock: FileLock };

/** Creates the directory for mounts. Rejects if another driver uses it. */
async function lockMountDirectory({ mountDir, secretFiles }: DriverConfig): Promise<LockedDirectory> {
  // the directory must not be writable by others: they could replace a directory by a link while a secret is
  // read
  if (secretFiles !== undefined) await ensurePrivateDirectory(secretFiles);
  const directory = await makeMountDirectory(mountDir);
  const lockName = parsePathSegment('lock');
  const lock = lockName && (await takeFileLock(directory.stateDirectory, lockName));
  if (lock !== undefined) return { ...directory, lock };
  throw new ProductError(
    'DRIVER_CONFIG_INVALID',
    `another volume driver runs on '${mountDir}'; stop it first`,
  );
}

async function openMounts(
  config: DriverConfig,
  ports: DriverPorts &
    Pick<ResolveMountDependencies, 'log' | 'metrics'> & { readonly directory: LockedDirectory },
  stops: Stops,
): Promise<VolumeMounts> {
  const { mounter, directory, log, metrics } = ports;
  const credhub = config.credhub === undefined ? undefined : await openCredhub(config.credhub);
  stops.push(() => credhub?.client.close());
  const resolving: ResolveMountDependencies = {
    protocol: config.protocol,
    forcedFlags: config.forcedFlags,
    signatures: { mode: config.signatures, keys: await readSignatureKeys(config) },
    secrets: { filePrefix: config.secretFiles, credhub },
    log,
    metrics,
    resolveIds: ports.idsOf,
  };
  return new VolumeMounts({
    mounter,
    store: new VolumeStore(directory.stateDirectory),
    resolveMount: (name, options, signal) => resolveMount(resolving, name, options, signal),
    verifyOptions: (name, options) => void verifyOptions(resolving, name, options),
    mountDir: directory.path,
    bootId: (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim(),
    deadlines: config.deadlines,
    log,
    metrics,
    clock: () => performance.now(),
  });
}

async function readSignatureKeys({ signatureKeys }: DriverConfig): Promise<PublicKeys> {
  if (signatureKeys === undefined) return new Map();
  const keys = readPublicKeys(await readPem('signatureKeys', signatureKeys));
  if ('problem' in keys)
    throw new ProductError('DRIVER_CONFIG_INVALID', `'${signatureKeys}' of -signatureKeys ${keys.problem}`);
  return keys;
}

async function createPluginServer({ tls }: DriverConfig, requests: RequestListener): Promise<Server> {
  return tls === undefined ? createServer(requests) : createTlsServer(await tlsOptions(tls), requests);
}

async function listen({ transport }: DriverConfig, server: Server): Promise<string> {
  if (transport.kind === 'tcp') return listenTcp(server, transport.listen);
  await listenUnix(server, transport.path);
  return transport.path;
}
