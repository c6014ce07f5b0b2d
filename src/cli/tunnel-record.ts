import { join } from 'node:path';
import { removeDurably, writeDurably } from '../deploy/durable-file.ts';
import { identifyProcess, isAlive, isOwn, type ProcessIdentity } from '../deploy/process/process-identity.ts';
import { readBesideState } from '../deploy/state/read-beside-state.ts';
import { ProductError } from '../errors/product-error.ts';
import { isObject } from '../platform/fields.ts';

/** The content of tunnel.json in a director's directory: the tunnel that runs in the background for it. */
export interface TunnelRecord extends ProcessIdentity {
  readonly port: number;
}

const tunnelFilePath = (directory: string): string => join(directory, 'tunnel.json');

/** Returns the running tunnel, or undefined if none runs, even if a killed one left a record. */
export async function runningTunnel(directory: string): Promise<TunnelRecord | undefined> {
  const path = tunnelFilePath(directory);
  const record = await readBesideState(path, isTunnelRecord, (cause) => {
    const message = `File '${path}' is not what the tunnel wrote; remove it if no tunnel of that folder runs`;
    return new ProductError('DIRECTORY_INVALID', message, { cause });
  });
  return record !== undefined && isAlive(record) && isOwn(record) ? record : undefined;
}

/** Records this process as the directory's tunnel. */
export async function recordTunnel(directory: string, port: number): Promise<void> {
  const own = identifyProcess(process.pid) ?? { pid: process.pid, started: '' };
  const record: TunnelRecord = { ...own, port };
  await writeDurably(tunnelFilePath(directory), `${JSON.stringify(record)}\n`);
}

export async function removeTunnelRecord(directory: string): Promise<void> {
  await removeDurably(tunnelFilePath(directory));
}

function isTunnelRecord(value: unknown): value is TunnelRecord {
  if (!isObject(value)) return false;
  const { pid, started, port } = value;
  return (
    // Process 1 is never a tunnel, and a negative number is a process group.
    Number.isSafeInteger(pid) &&
    Number(pid) > 1 &&
    typeof started === 'string' &&
    Number.isSafeInteger(port) &&
    Number(port) > 0 &&
    Number(port) < 65_536
  );
}
