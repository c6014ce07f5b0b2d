import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isAbsolute, normalize } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { DriverSpec } from './discover-drivers.ts';
import { parseJsonObject } from '../../platform/json.ts';

/** Timeouts of calls to a driver in seconds. */
export interface DriverDeadlines {
  /** Timeout for Activate, List and Create. */
  readonly short: number;
  /** Timeout for Mount, Unmount and Remove. It must be longer than the driver's own timeouts for them. */
  readonly mount: number;
}

/** A volume in the list of a driver. It is not mounted if `mountCount` is 0. */
interface DriverVolume {
  readonly name: string;
  readonly mountCount: number;
}

/** Maximum bytes of a response. A list of ten thousand volumes has about 2 MiB. */
const maxResponseBytes = 16 * 1024 * 1024;
const maxErrorLength = 500;

/**
 * Calls a driver with Docker's volume plugin protocol. Each call has its own connection and timeout. Calls
 * reject with DRIVER_UNREACHABLE, DRIVER_REFUSED (the reason is for the app's developer) or DRIVER_FAILED.
 */
export class DriverClient {
  readonly #spec: DriverSpec;
  readonly #deadlines: DriverDeadlines;

  constructor(spec: DriverSpec, deadlines: DriverDeadlines) {
    this.#spec = spec;
    this.#deadlines = deadlines;
  }

  async activate(): Promise<void> {
    const { Implements: kinds } = await this.#call('/Plugin.Activate', {}, this.#deadlines.short);
    if (!Array.isArray(kinds) || !kinds.includes('VolumeDriver'))
      throw this.#unreachable('/Plugin.Activate', 'answered that it is not a VolumeDriver');
  }

  async create(name: string, options: object): Promise<void> {
    await this.#call('/VolumeDriver.Create', { Name: name, Opts: options }, this.#deadlines.short);
  }

  /** Returns the path at which the volume is mounted. `id` is Docker's id of the client that mounts. */
  async mount(name: string, id: string): Promise<string> {
    const route = '/VolumeDriver.Mount';
    const { Mountpoint: path } = await this.#call(route, { Name: name, ID: id }, this.#deadlines.mount);
    if (typeof path === 'string' && isAbsolute(path) && path !== '/' && normalize(path) === path) return path;
    throw this.#unreachable(route, 'returned a Mountpoint that is not an absolute path without ".."');
  }

  async unmount(name: string, id?: string): Promise<void> {
    const body = { Name: name, ...(id === undefined ? {} : { ID: id }) };
    await this.#call('/VolumeDriver.Unmount', body, this.#deadlines.mount);
  }

  async remove(name: string): Promise<void> {
    await this.#call('/VolumeDriver.Remove', { Name: name }, this.#deadlines.mount);
  }

  async list(): Promise<readonly DriverVolume[]> {
    const route = '/VolumeDriver.List';
    const { Volumes: volumes } = await this.#call(route, {}, this.#deadlines.short);
    // Go writes an empty list as null
    const entries: readonly unknown[] | undefined = Array.isArray(volumes) ? volumes : [];
    return entries.map((entry) => {
      const { Name: name, MountCount: count = 0 }: Record<string, unknown> = { ...(entry as object) };
      if (typeof name === 'string' && typeof count === 'number') return { name, mountCount: count };
      throw this.#unreachable(route, 'returned a volume without Name, or whose MountCount is not a number');
    });
  }

  async #call(route: string, body: object, seconds: number): Promise<Record<string, unknown>> {
    const { status, text } = await this.#exchange(route, JSON.stringify(body), seconds);
    const answer = parseJsonObject(text);
    const reason = answer?.['Err'];
    if (typeof reason === 'string' && reason !== '') throw driverError(this.#spec.name, reason);
    if (status !== 200) throw this.#unreachable(route, `answered with status ${status}`);
    if (answer === undefined)
      throw this.#unreachable(route, 'answered with a body that is not a JSON object');
    return answer;
  }

  async #exchange(route: string, body: string, seconds: number): Promise<{ status: number; text: string }> {
    const signal = AbortSignal.timeout(seconds * 1000);
    try {
      const { tls, address } = this.#spec;
      const options = {
        ...('socketPath' in address ? address : { host: address.host, port: address.port }),
        path: route,
        method: 'POST',
        agent: false,
        signal,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      } as const;
      const secure = tls && {
        ca: await readFile(tls.caFile),
        cert: await readFile(tls.certFile),
        key: await readFile(tls.keyFile),
        ...(tls.checksName ? {} : { checkServerIdentity: () => undefined }),
      };
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const request =
          secure === undefined
            ? httpRequest(options, resolve)
            : httpsRequest({ ...options, ...secure }, resolve);
        request.once('error', reject).end(body);
      });
      return { status: response.statusCode ?? 0, text: await readAll(response) };
    } catch (error) {
      const problem = signal.aborted
        ? `gave no answer within ${seconds} seconds`
        : `did not answer: ${error instanceof Error ? error.message : String(error)}`;
      throw this.#unreachable(route, problem, error);
    }
  }

  #unreachable(route: string, problem: string, cause?: unknown): ProductError {
    return new ProductError(
      'DRIVER_UNREACHABLE',
      `volume driver '${this.#spec.name}' ${problem} (${route}); see its log, and restart it if it is stuck`,
      { cause },
    );
  }
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxResponseBytes) throw new Error(`more than ${maxResponseBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Returns the error of a driver. If developers may read the reason, it is a JSON object in a string. */
function driverError(driver: string, reason: string): ProductError {
  const safe = parseJsonObject(reason)?.['SafeDescription'];
  if (typeof safe === 'string' && safe !== '') return new ProductError('DRIVER_REFUSED', truncate(safe));
  return new ProductError(
    'DRIVER_FAILED',
    `volume driver '${driver}' answered: ${truncate(reason)}; see its log for more`,
  );
}

const truncate = (text: string): string =>
  text.length <= maxErrorLength ? text : `${text.slice(0, maxErrorLength).replace(/\S*$/u, '')}...`;
