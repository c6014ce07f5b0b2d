import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { NodeArgument } from '../../../embedded-cluster/node/parse-node.ts';
import { nobleVersion } from '../../director/cloud-foundry/ops-files.ts';
import type { NameLookup } from '../../director/cloud-foundry/prepare-cloud-foundry.ts';
import { pods } from '../../kubernetes/resources.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import {
  checkout,
  connectAccepting,
  light,
  startDirectorSetting,
  type DirectorSetting,
} from './director-setting.ts';

/** The address of the simulated cluster's first node. */
export const address = '198.18.0.1';
export const domain = `${address}.sslip.io`;
/** YAML 1.1, which the bosh CLI reads, takes a plain `no` for false. */
export const zonal = ['a', 'b', 'no'].map((zone) => ({ name: `node-${zone}`, zone }));
export const highlyAvailable = ['--layout', 'highly-available', '--system-domain', 'cf.example.com'];

export const nobleStemcell = { ...light, operatingSystem: 'ubuntu-noble', version: nobleVersion };

/** Resolves names of sslip.io to the IPv4 address in them, and other names by `records`. */
const lookupIn = (records: ReadonlyMap<string, string>): NameLookup => ({
  randomLabel: () => 'random',
  resolve: (name) => {
    const found = /((?:\d+\.){3}\d+)\.sslip\.io$/u.exec(name)?.[1] ?? records.get(name);
    const result =
      found === undefined ? { addresses: [], error: 'ENOTFOUND' } : { addresses: [found], error: '' };
    return Promise.resolve({ name, ...result });
  },
});

export interface FoundrySetting extends DirectorSetting {
  /** Runs `director init --with cloud-foundry`. */
  readonly prepare: (...args: string[]) => Promise<string>;
  readonly read: (path: string) => Promise<string>;
  /** The commands of section 4. */
  readonly commands: () => Promise<string[]>;
}

/** Starts a simulated cluster for tests of `director init --with cloud-foundry`. */
export async function startFoundrySetting(
  t: TestContext,
  records: ReadonlyMap<string, string> = new Map(),
  clusterNodes: readonly NodeArgument[] = [{ name: 'node-1' }],
  connect = connectAccepting,
): Promise<FoundrySetting> {
  const started = await startDirectorSetting(t, {
    ...{ root: checkout, nodes: clusterNodes, ports: { lookup: lookupIn(records), connect } },
  });
  const { init, directory } = started;
  const prepare = async (...args: string[]): Promise<string> =>
    (await init('--with', 'cloud-foundry', '--address', address, ...args, directory)).out;
  const read = (path: string): Promise<string> => readFile(join(directory, path), 'utf8');
  const commands = async (): Promise<string[]> =>
    (await read('commands.sh'))
      .split(/^# 4\. .*\n/mu)[1]
      ?.trimEnd()
      .split('\n') ?? [];
  return { ...started, prepare, read, commands };
}

export interface Room {
  readonly cpu: number;
  /** GiB. */
  readonly memory: number;
  readonly labels?: Record<string, string>;
  readonly namespace?: string;
}

/** Leaves so much of a node to VMs, by a pod that requests the rest. */
export async function leave(
  { cluster }: FoundrySetting,
  node: string,
  { cpu, memory, labels = {}, namespace = 'default' }: Room,
): Promise<void> {
  const requests = { cpu: String(10_000 - cpu), memory: `${100 * 1024 - memory}Gi` };
  await cluster.api.create<Pod>(pods, {
    metadata: { name: `full-${node}`, namespace, labels },
    spec: { nodeName: node, containers: [{ name: 'a', image: 'a', resources: { requests } }] },
  });
}
