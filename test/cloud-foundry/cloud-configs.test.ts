import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { interpolateTemplate } from '../../src/bosh/manifest/interpolate-template.ts';
import { attachmentRequests } from '../../src/cpi/disk/attach/attachment-pod-spec.ts';
import { directorVmIn } from '../../src/director/artifacts.ts';
import {
  compilationVms,
  instanceGroups,
  layouts,
  layoutVms,
  readCloudConfig,
  vmPropertiesOf,
  type Layout,
  type Vms,
} from '../../src/director/cloud-foundry/layout-vms.ts';
import { parseMilli } from '../../src/kubernetes/types/quantity.ts';
import type { Field } from '../../src/platform/field.ts';

const root = new URL('../../', import.meta.url).pathname;
const page = readFileSync(`${root}docs/cloud-foundry.md`, 'utf8');

/** A row of the sums: milli-CPU, and MiB. */
interface Row {
  readonly name: string;
  readonly vms: number;
  readonly cpu: number;
  readonly memory: number;
  readonly ephemeral: number;
  readonly persistent: number;
}

const variables = {
  ...{ node_address: '192.0.2.11', ephemeral_storage_class: 'fast' },
  ...{ z1_zone: 'a', z2_zone: 'b', z3_zone: 'c' },
};

const readConfig = (layout: Layout): Promise<Field> => readCloudConfig(root, layout, variables);

const readYaml = (path: string): unknown => parse(readFileSync(`${root}${path}`, 'utf8')) as unknown;

const milli = (quantity = '0'): number => Number(parseMilli(quantity));
const mebibytes = (quantity = '0'): number => milli(quantity) / 1000 / 2 ** 20;

function rowOf({ name, count, properties: { compute }, persistentDisk }: Vms): Row {
  const { requests } = compute.resources;
  return {
    ...{ name, vms: count },
    cpu: count * milli(requests['cpu']),
    memory: count * mebibytes(requests['memory']),
    ephemeral: count * compute.ephemeralDisk.sizeMiB,
    persistent: count * persistentDisk,
  };
}

const total = (name: string, rows: readonly Row[]): Row => {
  const sum = (key: Exclude<keyof Row, 'name'>): number => rows.reduce((value, row) => value + row[key], 0);
  return {
    ...{ name, vms: sum('vms'), cpu: sum('cpu'), memory: sum('memory') },
    ...{ ephemeral: sum('ephemeral'), persistent: sum('persistent') },
  };
};

/** The director has the requests of manifests/bosh-deployment/cpi.yml and the disk of bosh.yml. */
const directorRow = (): Row => {
  const text = readFileSync(`${root}manifests/bosh-deployment/cpi.yml`, 'utf8');
  return rowOf({ name: 'director', count: 1, properties: directorVmIn(text), persistentDisk: 65_536 });
};

/** Each disk has an attachment pod, which requests a fixed amount (docs/cpi/cloud-properties.md). */
const attachmentRow = (disks: number): Row => ({
  ...{ name: 'attachment pods', vms: 0, cpu: disks * milli(attachmentRequests.cpu) },
  memory: disks * mebibytes(attachmentRequests.memory),
  ...{ ephemeral: 0, persistent: 0 },
});

const inGibibytes = (size: number): string => String(Number((size / 1024).toFixed(1)));
const lineOf = ({ name, vms, cpu, memory, ephemeral, persistent }: Row): string => {
  const sizes = [memory, ephemeral, persistent].map(inGibibytes);
  return `| ${[name, vms, cpu / 1000, ...sizes].join(' | ')} |\n`;
};

describe('cloud-configs for Cloud Foundry', () => {
  test('the smallest fits a node of 8 CPU and 24 GiB, and the page has its sums', async () => {
    const config = await readConfig('smallest');
    const foundry = layoutVms(config, 'smallest').map(rowOf);
    const rows = [directorRow(), rowOf(compilationVms(config)), attachmentRow(3)];
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
    const config = await readConfig('highly-available');
    const foundry = layoutVms(config, 'highly-available').map(rowOf);
    const rows = [directorRow(), rowOf(compilationVms(config)), attachmentRow(3)];
    for (const row of [total('Cloud Foundry', foundry), ...rows, total('all', [...foundry, ...rows])])
      assert.ok(page.includes(lineOf(row)), `the page has not this line: ${lineOf(row)}`);
  });

  for (const name of layouts) {
    test(`the variables of ${name} are the requests of its VM types`, async () => {
      const config = await readConfig(name);
      const values = readYaml(`manifests/cf-deployment/variables/${name}.yml`) as Record<string, number>;
      const cell = vmPropertiesOf(config, 'small-highmem', ['100GB_ephemeral_disk']).compute;
      const memoryOf = (type: string): number =>
        mebibytes(vmPropertiesOf(config, type).compute.resources.requests['memory']);
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
      const config = await readConfig(name);
      const portsOf = (extension: string): number[] =>
        vmPropertiesOf(config, 'minimal', [extension]).services.flatMap(({ ports }) =>
          ports.map(({ port }) => port),
        );
      assert.deepEqual(portsOf('cf-router-network-properties'), [80, 443]);
      assert.deepEqual(portsOf('diego-ssh-proxy-network-properties'), [2222]);
      assert.deepEqual(portsOf('ssh-proxy-and-router-lb'), [80, 443, 2222]);
      const tcp = Array.from({ length: 100 }, (_, index) => 1024 + index);
      assert.deepEqual(portsOf('cf-tcp-router-network-properties'), tcp);
      for (const type of config.get('vm_types').list())
        assert.equal(vmPropertiesOf(config, type.get('name').string()).privilege.profile, 'privileged');
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
        const listed = instanceGroups.map(({ name, type, extensions, disk, instances }) => ({
          ...{ name, type, extensions, disk },
          instances: instances[layout],
        }));
        const zones = made.flatMap(({ azs }) => azs);
        assert.deepEqual(new Set(zones), new Set(['z1', 'z2'].slice(0, layout + 1)));
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
  readonly azs: readonly string[];
  readonly vm_type: string;
  readonly vm_extensions?: readonly string[];
  readonly persistent_disk_type?: string;
  readonly lifecycle?: string;
}
