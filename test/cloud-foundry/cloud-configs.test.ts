import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { interpolateTemplate } from '../../src/bosh/manifest/interpolate-template.ts';
import { parseConfig } from '../../src/cpi/config/config.ts';
import { type VmProperties, parseVmProperties } from '../../src/cpi/vm/properties.ts';
import { parseMilli } from '../../src/kubernetes/types/quantity.ts';
import { Field } from '../../src/platform/field.ts';
import type { JsonObject } from '../../src/platform/json.ts';
import { type CloudConfig, cloudPropertiesOf, named, readCloudConfig } from './cloud-config.ts';

const root = new URL('../../', import.meta.url).pathname;
const page = readFileSync(`${root}docs/cloud-foundry.md`, 'utf8');

interface Group {
  readonly name: string;
  readonly type: string;
  readonly extensions?: readonly string[];
  readonly disk?: string;
  /** Instances after scale-to-one-az.yml, and without it. */
  readonly instances: readonly [number, number];
}

/** The instance groups of cf-deployment v58 that are always there, after sizes.yml. Errands run one at a time. */
const groups: readonly Group[] = [
  { name: 'nats', type: 'medium', instances: [1, 2] },
  { name: 'database', type: 'small', disk: '10GB', instances: [1, 1] },
  { name: 'diego-api', type: 'small', instances: [1, 2] },
  { name: 'uaa', type: 'small', instances: [1, 2] },
  { name: 'singleton-blobstore', type: 'small', disk: '100GB', instances: [1, 1] },
  { name: 'api', type: 'small', extensions: ['50GB_ephemeral_disk'], instances: [1, 2] },
  { name: 'cc-worker', type: 'minimal', instances: [1, 2] },
  ...(
    [
      ['scheduler', 'diego-ssh-proxy-network-properties'],
      ['router', 'cf-router-network-properties'],
      ['tcp-router', 'cf-tcp-router-network-properties'],
    ] as const
  ).map(([name, extension]): Group => ({
    name,
    type: 'minimal',
    extensions: [extension],
    instances: [1, 2],
  })),
  { name: 'log-cache', type: 'small-highmem', instances: [1, 1] },
  { name: 'doppler', type: 'minimal', instances: [1, 3] },
  { name: 'diego-cell', type: 'small-highmem', extensions: ['100GB_ephemeral_disk'], instances: [1, 3] },
  { name: 'log-api', type: 'minimal', instances: [1, 2] },
  { name: 'credhub', type: 'small', instances: [1, 2] },
];

/** A row of the sums: milli-CPU, and MiB. */
interface Row {
  readonly name: string;
  readonly vms: number;
  readonly cpu: number;
  readonly memory: number;
  readonly ephemeral: number;
  readonly persistent: number;
}

const readYaml = (path: string): unknown => parse(readFileSync(`${root}${path}`, 'utf8')) as unknown;

function propertiesOf(config: CloudConfig, type: string, extensions?: readonly string[]): VmProperties {
  const merged = cloudPropertiesOf(config, type, extensions);
  return parseVmProperties(new Field(merged, type, 'INVALID_ARGUMENT'), parseConfig({}, {}));
}

const milli = (quantity = '0'): number => Number(parseMilli(quantity));
const mebibytes = (quantity = '0'): number => milli(quantity) / 1000 / 2 ** 20;

function rowOf(name: string, vms: number, { compute }: VmProperties, persistent = 0): Row {
  const { requests } = compute.resources;
  return {
    ...{ name, vms },
    cpu: vms * milli(requests['cpu']),
    memory: vms * mebibytes(requests['memory']),
    ephemeral: vms * compute.ephemeralDisk.sizeMiB,
    persistent: vms * persistent,
  };
}

const total = (name: string, rows: readonly Row[]): Row => {
  const sum = (key: Exclude<keyof Row, 'name'>): number => rows.reduce((value, row) => value + row[key], 0);
  return {
    ...{ name, vms: sum('vms'), cpu: sum('cpu'), memory: sum('memory') },
    ...{ ephemeral: sum('ephemeral'), persistent: sum('persistent') },
  };
};

function groupRows(config: CloudConfig, layout: 0 | 1): Row[] {
  return groups.map(({ name, type, extensions, disk, instances }) =>
    rowOf(
      name,
      instances[layout],
      propertiesOf(config, type, extensions),
      disk === undefined ? 0 : named(config.disk_types, disk).disk_size,
    ),
  );
}

/** The director has the requests of manifests/bosh-deployment/cpi.yml and the disk of bosh.yml. */
function directorRow(): Row {
  const operations = readYaml('manifests/bosh-deployment/cpi.yml') as readonly {
    path: string;
    value: JsonObject;
  }[];
  const { value } =
    operations.find(({ path }) => path === '/resource_pools/name=vms/cloud_properties?') ?? assert.fail();
  const field = new Field(value, 'cpi.yml', 'INVALID_ARGUMENT');
  return rowOf('director', 1, parseVmProperties(field, parseConfig({}, {})), 65_536);
}

const compilationRow = (config: CloudConfig): Row =>
  rowOf('compilation', config.compilation.workers, propertiesOf(config, config.compilation.vm_type));

/** Each disk has an attachment pod, which requests a fixed amount (docs/cpi/cloud-properties.md). */
const attachmentRow = (disks: number): Row => ({
  ...{ name: 'attachment pods', vms: 0, cpu: disks * 10, memory: disks * 32 },
  ...{ ephemeral: 0, persistent: 0 },
});

const inGibibytes = (size: number): string => String(Number((size / 1024).toFixed(1)));
const lineOf = ({ name, vms, cpu, memory, ephemeral, persistent }: Row): string => {
  const sizes = [memory, ephemeral, persistent].map(inGibibytes);
  return `| ${[name, vms, cpu / 1000, ...sizes].join(' | ')} |\n`;
};

describe('cloud-configs for Cloud Foundry', () => {
  test('the smallest fits a node of 8 CPU and 24 GiB, and the page has its sums', async () => {
    const config = await readCloudConfig('smallest');
    const foundry = groupRows(config, 0);
    const rows = [directorRow(), compilationRow(config), attachmentRow(3)];
    const all = total('all', [...foundry, ...rows]);
    assert.ok(all.cpu <= 8000 - 1000, `${all.cpu} leaves less than 1 CPU to the pods of the cluster`);
    assert.ok(
      all.memory <= 24 * 1024 - 512,
      `${all.memory} leaves less than 512 MiB to the pods of the cluster`,
    );
    // Ruby processes of about 400 MiB each, and the Java heaps of UAA and CredHub
    for (const [name, least] of Object.entries({ api: 2560, scheduler: 1024, uaa: 1024, credhub: 1024 })) {
      const { memory = 0 } = foundry.find((row) => row.name === name) ?? {};
      assert.ok(memory >= least, `${name} requests ${memory} MiB, and its processes take about ${least}`);
    }
    for (const row of [...foundry, total('Cloud Foundry', foundry), ...rows, all])
      assert.ok(page.includes(lineOf(row)), `the page has not this line: ${lineOf(row)}`);
  });

  test('the page has the sums of the highly available one', async () => {
    const config = await readCloudConfig('highly-available');
    const foundry = groupRows(config, 1);
    const rows = [directorRow(), compilationRow(config), attachmentRow(3)];
    for (const row of [total('Cloud Foundry', foundry), ...rows, total('all', [...foundry, ...rows])])
      assert.ok(page.includes(lineOf(row)), `the page has not this line: ${lineOf(row)}`);
  });

  for (const name of ['smallest', 'highly-available']) {
    test(`the variables of ${name} are the requests of its VM types`, async () => {
      const config = await readCloudConfig(name);
      const values = readYaml(`manifests/cf-deployment/variables/${name}.yml`) as Record<string, number>;
      const cell = propertiesOf(config, 'small-highmem', ['100GB_ephemeral_disk']).compute;
      const memoryOf = (type: string): number =>
        mebibytes(propertiesOf(config, type).compute.resources.requests['memory']);
      const disk = values['cell_disk_mb'] ?? 0;
      assert.deepEqual(values, {
        cell_memory_mb: mebibytes(cell.resources.requests['memory']),
        cell_disk_mb: disk,
        cell_reserved_disk_mb: cell.ephemeralDisk.sizeMiB - disk - 5 * 1024,
        database_buffer_pool_bytes: (memoryOf('small') * 2 ** 20) / 2,
        log_cache_memory_bytes: (memoryOf('small-highmem') * 2 ** 20) / 2,
      });
      assert.ok(disk > 15 * 1024, 'Garden ignores the reserved space if its store has no more');
      assert.ok(mebibytes(cell.resources.limits['memory']) > (values['cell_memory_mb'] ?? 0));
      assert.notEqual(cell.ephemeralDisk.storageClass, undefined);
    });

    test(`the Services of ${name} have the ports of router, tcp-router and ssh-proxy`, async () => {
      const config = await readCloudConfig(name);
      const portsOf = (extension: string): number[] =>
        propertiesOf(config, 'minimal', [extension]).services.flatMap(({ ports }) =>
          ports.map(({ port }) => port),
        );
      assert.deepEqual(portsOf('cf-router-network-properties'), [80, 443]);
      assert.deepEqual(portsOf('diego-ssh-proxy-network-properties'), [2222]);
      assert.deepEqual(portsOf('ssh-proxy-and-router-lb'), [80, 443, 2222]);
      const tcp = Array.from({ length: 100 }, (_, index) => 1024 + index);
      assert.deepEqual(portsOf('cf-tcp-router-network-properties'), tcp);
      for (const { name: type } of config.vm_types)
        assert.equal(propertiesOf(config, type).privilege.profile, 'privileged');
    });
  }

  const { CF_DEPLOYMENT: checkout = '' } = process.env;
  test(
    'the table of groups is that of the checkout',
    { skip: checkout === '' && 'needs a checkout of cf-deployment v58.0.0: CF_DEPLOYMENT=<path>' },
    async () => {
      const path = resolve(checkout, 'cf-deployment.yml');
      for (const layout of [0, 1] as const) {
        const opsFiles = [
          ...(layout === 0 ? [resolve(checkout, 'operations/scale-to-one-az.yml')] : []),
          `${root}manifests/cf-deployment/sizes.yml`,
        ];
        const { instance_groups: made } = parse(await interpolateTemplate({ path, opsFiles })) as {
          instance_groups: readonly UpstreamGroup[];
        };
        const listed = groups.map(({ name, type, extensions, disk, instances }) => ({
          ...{ name, type, extensions, disk },
          instances: instances[layout],
        }));
        const real = made
          .filter(({ lifecycle }) => lifecycle === undefined)
          .map((group) => ({
            ...{ name: group.name, type: group.vm_type, extensions: group.vm_extensions },
            ...{ disk: group.persistent_disk_type, instances: group.instances },
          }));
        assert.deepEqual(listed, real);
      }
    },
  );
});

interface UpstreamGroup {
  readonly name: string;
  readonly instances: number;
  readonly vm_type: string;
  readonly vm_extensions?: readonly string[];
  readonly persistent_disk_type?: string;
  readonly lifecycle?: string;
}
