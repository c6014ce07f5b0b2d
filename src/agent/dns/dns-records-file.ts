import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { parseJsonObject, type JsonObject } from '../../platform/json.ts';
import { KeyedQueue } from '../../platform/keyed-queue.ts';
import { writeFile, writing } from '../../platform/write-file.ts';
import type { BlobSource, Blobs } from '../blob/blobs.ts';
import type { Directories } from '../directories.ts';
import { errorCode } from '../file/error-code.ts';
import { readFileIfPresent, writeDurableFile } from '../file/files.ts';
import { type Identities, vcapGroup } from '../user/identities.ts';

export interface DnsRecordsOptions {
  readonly directories: Directories;
  readonly blobs: Blobs;
  readonly identities: Identities;
  readonly agentId: string;
  /** `/etc/hosts`. */
  readonly hostsPath: string;
  /** The host name of the VM, whose line in /etc/hosts stays. */
  readonly hostname: string;
}

/** In bytes. The records of ten thousand instances need some 10 MB. */
const longestRecords = 100 * 1024 * 1024;

type Host = readonly [address: string, name: string];

/**
 * The director's records of its instances: instance/dns/records.json, which bosh-dns reads, and /etc/hosts
 * (bosh-agent: agent/action/sync_dns.go). After a restart of the container the entry script adds the records
 * to /etc/hosts again (src/cpi/vm/scripts/entry.ts), with every agent.
 */
export class DnsRecordsFile {
  readonly #options: DnsRecordsOptions;
  readonly #path: string;
  readonly #queue = new KeyedQueue();

  constructor(options: DnsRecordsOptions) {
    this.#options = options;
    this.#path = join(options.directories.instance, 'dns', 'records.json');
  }

  /**
   * Fetches and writes the records, unless the VM has that version or a later one. Throws the errors of
   * Blobs.withVerified, and AGENT_BLOB_INVALID if the blob has other content. Then the present records stay.
   * A director repeats a call that takes longer than ten seconds, so that calls wait for each other.
   */
  sync(source: BlobSource, version: number): Promise<void> {
    return this.#queue.run(this.#path, () => this.#sync(source, version));
  }

  async #sync(source: BlobSource, version: number): Promise<void> {
    if (version <= (await this.#version())) return;
    const text = await this.#options.blobs.withVerified(source, 'the DNS records', readRecords);
    const records = parseRecords(text);
    if (records['version'] !== version)
      throw invalid(`the blob is not a JSON object with version ${version}`);
    const hosts = parseHosts(records);
    await this.#writeHosts(hosts);
    // The version is in this file, so that it is written last: a sync that was interrupted is repeated.
    await this.#writeRecords(text);
  }

  async #version(): Promise<number> {
    const text = await readFileIfPresent(this.#path);
    const version = text === undefined ? undefined : parseJsonObject(text)?.['version'];
    return typeof version === 'number' ? version : -1;
  }

  async #writeRecords(text: string): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o755 });
    // bosh-dns runs as vcap.
    await writeDurableFile(this.#path, text, 0o640, vcapGroup(this.#options.identities));
  }

  async #writeHosts(hosts: readonly Host[]): Promise<void> {
    const { hostsPath, agentId, hostname } = this.#options;
    const present = (await readFileIfPresent(hostsPath)) ?? '';
    const content = hostsFile(agentId, [...ownLines(present, hostname), ...hosts]);
    if (present === content) return;
    const temporary = `${hostsPath}-bosh`;
    try {
      await writeFile(temporary, content, { mode: 0o644 });
      await rename(temporary, hostsPath);
    } catch (error) {
      await rm(temporary, { force: true });
      // In a pod with the profile baseline, the kubelet has mounted the file, so that it cannot be replaced.
      if (errorCode(error) !== 'EBUSY' && errorCode(error) !== 'EROFS') throw error;
      await writeInPlace(hostsPath, content, present);
    }
  }
}

/**
 * Writes a file that cannot be replaced. The file shrinks only after the write has succeeded, so that the
 * previous content still fits if it fails.
 */
async function writeInPlace(path: string, content: string, previous: string): Promise<void> {
  await using file = await open(path, 'r+');
  const write = async (text: string): Promise<void> => {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length;)
      done += (await file.write(bytes, done, bytes.length - done, done)).bytesWritten;
    await file.truncate(bytes.length);
  };
  try {
    await writing(path, () => write(content));
  } catch (error) {
    await write(previous);
    throw error;
  }
}

async function readRecords(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > longestRecords)
    throw invalid(`the blob has ${size} bytes, and at most ${longestRecords} are read`);
  return readFile(path, 'utf8');
}

function parseRecords(text: string): JsonObject {
  const records = parseJsonObject(text);
  if (records === undefined) throw invalid('the blob is not a JSON object');
  return records;
}

function parseHosts({ records }: JsonObject): readonly Host[] {
  if (records === undefined || records === null) return [];
  if (!Array.isArray(records)) throw invalid('its records are not a list');
  return records.map((entry: unknown): Host => {
    const [address, name] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (typeof address === 'string' && typeof name === 'string' && /^[0-9A-Fa-f.:]+$/u.test(address))
      if (/^[A-Za-z0-9_.-]+$/u.test(name)) return [address, name];
    throw invalid('a record is not a pair of an address and a name');
  });
}

/** Returns the lines that the kubelet wrote for the VM's own name. */
function ownLines(text: string, hostname: string): readonly Host[] {
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/u));
  return lines.flatMap(([address = '', ...names]): Host[] =>
    names.includes(hostname) && !names.includes('localhost') ? [[address, names.join(' ')]] : [],
  );
}

function hostsFile(agentId: string, hosts: readonly Host[]): string {
  // A record with the VM's own name is among its own lines the next time.
  const lines = new Set(hosts.map(([address, name]) => `${address} ${name}`));
  return `${loopback(agentId)}${[...lines].map((line) => `${line}\n`).join('')}`;
}

const loopback = (agentId: string): string => `127.0.0.1 localhost ${agentId}

# The following lines are desirable for IPv6 capable hosts
::1 localhost ip6-localhost ip6-loopback ${agentId}
fe00::0 ip6-localnet
ff00::0 ip6-mcastprefix
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
ff02::3 ip6-allhosts
`;

function invalid(cause: string): ProductError {
  return new ProductError('AGENT_BLOB_INVALID', `the DNS records cannot be used: ${cause}`);
}
