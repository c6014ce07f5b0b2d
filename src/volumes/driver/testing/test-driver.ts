import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { DriverConfig } from '../config.ts';
import { parseDriverConfig } from '../config.ts';
import type { Mounter } from '../mount/mounter.ts';
import type { RunningDriver } from '../start-driver.ts';
import { startDriver } from '../start-driver.ts';
import type { MemoryMounter } from './memory-mounter.ts';
import { memoryMounter } from './memory-mounter.ts';

/** A response of the protocol. */
export interface DriverAnswer {
  readonly Err: string;
  readonly Mountpoint?: string;
  readonly Volumes?: readonly {
    readonly Name: string;
    readonly MountCount: number;
    readonly Mountpoint: string;
  }[];
  readonly [key: string]: unknown;
}

/** Sends a body to a verb such as `VolumeDriver.Mount`. */
export type CallDriver = (verb: string, body?: unknown) => Promise<DriverAnswer>;

export const callerOf =
  (address: string): CallDriver =>
  async (verb, body) => {
    const response = await fetch(`http://${address}/${verb}`, {
      method: 'POST',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await response.json()) as DriverAnswer;
  };

/** Returns the text for developers in `Err`. */
export const safeDescription = ({ Err }: DriverAnswer): string =>
  (JSON.parse(Err) as { SafeDescription: string }).SafeDescription;

export interface TestDriver {
  readonly running: RunningDriver;
  readonly call: CallDriver;
  readonly mounter: MemoryMounter;
  readonly log: string[];
}

/** Creates a directory for a driver, which is removed after the test. */
export async function driverDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'volume-driver-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

/** Returns the configuration of a driver in a directory, on free ports, without a watchdog. */
export const configIn = (directory: string, args: readonly string[] = []): DriverConfig =>
  parseDriverConfig([
    ...(args.includes('-name') ? [] : ['-name', 'nfsv3driver']),
    ...['-listenAddr', '127.0.0.1:0', '-adminAddr', '127.0.0.1:0'],
    ...[
      '-driversPath',
      join(directory, 'drivers'),
      '-mountDir',
      join(directory, 'mounts'),
      '-watchInterval',
      '0',
    ],
    ...args,
  ]);

/** Starts a driver in this process with its mounts in memory. It stops after the test. */
export async function testDriver(
  t: TestContext,
  options: {
    directory?: string;
    args?: readonly string[];
    mounter?: Mounter & MemoryMounter;
    drainDeadline?: (milliseconds: number) => AbortSignal;
  } = {},
): Promise<TestDriver> {
  const { directory = await driverDirectory(t), args = [], mounter = memoryMounter(), ...ports } = options;
  const log: string[] = [];
  const out = (line: string): void => void log.push(line);
  const running = await startDriver(configIn(directory, args), { mounter, out, ...ports });
  t.after(() => running.stop());
  return { running, call: callerOf(running.address), mounter, log };
}

/** Options that are valid for each driver. */
export const nfsOptions = { source: 'nfs://server/export' };
export const smbOptions = { source: '//server/share', username: 'user', password: 'open sesame' };
