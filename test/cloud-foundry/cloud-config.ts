import assert from 'node:assert/strict';
import { join } from 'node:path';
import { parse } from 'yaml';
import { interpolateTemplate } from '../../src/bosh/manifest/interpolate-template.ts';
import type { JsonObject } from '../../src/platform/json.ts';
import { checkout } from '../support/embedded-environment.ts';

export interface Named {
  readonly name: string;
  readonly cloud_properties?: JsonObject;
}

export interface CloudConfig {
  readonly azs: readonly Named[];
  readonly vm_types: readonly Named[];
  readonly vm_extensions: readonly Named[];
  readonly disk_types: readonly (Named & { readonly disk_size: number })[];
  readonly compilation: { readonly workers: number; readonly vm_type: string };
}

const variables = {
  ...{ node_address: '192.0.2.11', ephemeral_storage_class: 'fast' },
  ...{ z1_zone: 'a', z2_zone: 'b', z3_zone: 'c' },
};

/** Returns manifests/cloud-config/cloud-foundry-<name>.yml with values for all variables. */
export async function readCloudConfig(name: string): Promise<CloudConfig> {
  const path = join(checkout, 'manifests', 'cloud-config', `cloud-foundry-${name}.yml`);
  return parse(await interpolateTemplate({ path, variables, varErrs: true })) as CloudConfig;
}

export function named<Item extends Named>(items: readonly Item[], name: string): Item {
  const found = items.find((item) => item.name === name);
  assert.ok(found, `the cloud-config has no ${name}`);
  return found;
}

/**
 * Returns the cloud_properties of a VM in the zone z1: those of its type under those of its extensions, as a
 * director merges them.
 */
export function cloudPropertiesOf(
  config: CloudConfig,
  type: string,
  extensions: readonly string[] = [],
): JsonObject {
  const all = [
    named(config.azs, 'z1'),
    named(config.vm_types, type),
    ...extensions.map((name) => named(config.vm_extensions, name)),
  ];
  return Object.assign({}, ...all.map(({ cloud_properties: each }) => each)) as JsonObject;
}
