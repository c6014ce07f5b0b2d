import { join } from 'node:path';
import { parse } from 'yaml';
import { interpolateTemplate } from '../../bosh/manifest/interpolate-template.ts';
import { parseConfig } from '../../cpi/config/config.ts';
import { parseVmProperties, type VmProperties } from '../../cpi/vm/properties.ts';
import { Field } from '../../platform/field.ts';
import type { JsonObject } from '../../platform/json.ts';

/** The cloud-configs of manifests/cloud-config for Cloud Foundry. */
export const layouts = ['smallest', 'highly-available'] as const;
export type Layout = (typeof layouts)[number];

/** An instance group of cf-deployment. */
export interface InstanceGroup {
  readonly name: string;
  readonly type: string;
  readonly extensions?: readonly string[];
  readonly disk?: string;
  /** Instances with scale-to-one-az.yml, as in the smallest layout, and without it. */
  readonly instances: readonly [smallest: number, highlyAvailable: number];
}

/** The instance groups of cf-deployment v58.0.0 that are always there, after sizes.yml. Errands run one at a time. */
export const instanceGroups: readonly InstanceGroup[] = [
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
  ).map(([name, extension]): InstanceGroup => ({
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

/** VMs with the same properties. */
export interface Vms {
  readonly name: string;
  readonly count: number;
  readonly properties: VmProperties;
  /** MiB of the persistent disk of each VM. */
  readonly persistentDisk: number;
}

export const cloudConfigPath = (root: string, layout: Layout): string =>
  join(root, 'manifests', 'cloud-config', `cloud-foundry-${layout}.yml`);

/** Reads the cloud-config of a layout, with the values of its variables. Rejects with MANIFEST_INVALID. */
export async function readCloudConfig(
  root: string,
  layout: Layout,
  variables: Readonly<Record<string, string>>,
): Promise<Field> {
  const path = cloudConfigPath(root, layout);
  return new Field(
    parse(await interpolateTemplate({ path, variables, varErrs: true })),
    path,
    'MANIFEST_INVALID',
  );
}

/** Returns the VMs of Cloud Foundry's instance groups. */
export function layoutVms(config: Field, layout: Layout): Vms[] {
  const column = layout === 'smallest' ? 0 : 1;
  return instanceGroups.map(({ name, type, extensions, disk, instances }) => ({
    ...{ name, count: instances[column], properties: vmPropertiesOf(config, type, extensions) },
    persistentDisk: disk === undefined ? 0 : named(config, 'disk_types', disk).get('disk_size').integer(),
  }));
}

/** Returns the VMs that compile packages. All of them may exist beside those of the instance groups. */
export function compilationVms(config: Field): Vms {
  const compilation = config.get('compilation').required();
  const properties = vmPropertiesOf(config, compilation.get('vm_type').string());
  return { name: 'compilation', count: compilation.get('workers').integer(), properties, persistentDisk: 0 };
}

/** Returns the properties of a VM of that type with these extensions. */
export function vmPropertiesOf(config: Field, type: string, extensions?: readonly string[]): VmProperties {
  const merged = cloudPropertiesOf(config, type, extensions);
  return parseVmProperties(new Field(merged, type, 'MANIFEST_INVALID'), parseConfig({}, {}));
}

/**
 * Returns the cloud_properties of a VM in the zone z1: those of its type under those of its extensions, as a
 * director merges them.
 */
export function cloudPropertiesOf(
  config: Field,
  type: string,
  extensions: readonly string[] = [],
): JsonObject {
  const parts = [
    named(config, 'azs', 'z1'),
    named(config, 'vm_types', type),
    ...extensions.map((name) => named(config, 'vm_extensions', name)),
  ];
  return Object.assign({}, ...parts.map((part) => part.get('cloud_properties').record())) as JsonObject;
}

function named(config: Field, list: string, name: string): Field {
  const found = config
    .get(list)
    .list()
    .find((item) => item.get('name').value === name);
  if (found === undefined) throw config.get(list).error(`has no ${name}`);
  return found;
}
