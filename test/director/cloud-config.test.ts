import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { interpolateTemplate } from '../../src/bosh/manifest/interpolate-template.ts';
import { makeServerCertificate } from '../../src/bosh/testing/certificates.ts';
import { parseNetworks } from '../../src/cpi/network/networks.ts';
import { parseConfig } from '../../src/cpi/config/config.ts';
import { parseDiskProperties } from '../../src/cpi/disk/disk-properties.ts';
import type { JsonObject } from '../../src/platform/json.ts';
import { Field } from '../../src/platform/field.ts';
import { parseVmProperties } from '../../src/cpi/vm/properties.ts';

const directory = new URL('../../manifests/cloud-config/', import.meta.url).pathname;
const argument = (value: unknown): Field => new Field(value, 'cloud-config', 'INVALID_ARGUMENT');
const variables = {
  ...{ internal_cidr: '10.88.0.0/16', internal_gw: '10.88.0.1', internal_ip: '10.88.0.7' },
  ...{ node_address: '192.0.2.11', ephemeral_storage_class: 'fast' },
  ...{ z1_zone: 'a', z2_zone: 'b', z3_zone: 'c' },
};

interface Named {
  readonly name: string;
  readonly cloud_properties?: JsonObject;
}
interface Subnet {
  readonly azs: readonly string[];
  readonly dns?: readonly string[];
  readonly cloud_properties: JsonObject;
}
interface CloudConfig {
  readonly azs: readonly Named[];
  readonly vm_types: readonly Named[];
  readonly vm_extensions?: readonly Named[];
  readonly disk_types: readonly (Named & { readonly disk_size: number })[];
  readonly networks: readonly (Named & { readonly type: string; readonly subnets: readonly Subnet[] })[];
  readonly compilation: { readonly az: string; readonly vm_type: string; readonly network: string };
}

describe('manifests/cloud-config', () => {
  for (const name of readdirSync(directory).filter((file) => !/^(?:cpi-config|manual-network)/u.test(file))) {
    test(`${name} names only networks and types that it defines, and the CPI accepts its properties in each network`, async () => {
      for (const opsFiles of [[], [`${directory}manual-network.yml`]]) {
        const text = await interpolateTemplate({
          path: directory + name,
          opsFiles,
          variables,
          varErrs: true,
        });
        assertAccepted(parse(text) as CloudConfig);
      }
    });
  }

  test('cpi-config.yml has two configurations that the CPI accepts', async () => {
    const { ca } = await makeServerCertificate();
    const text = await interpolateTemplate({
      path: `${directory}cpi-config.yml`,
      variables: {
        ...{ kubernetes_namespace: 'bosh', second_server: 'https://192.0.2.1:6443', second_ca: ca },
        ...{ second_token: 'token', second_namespace: 'bosh' },
      },
      varErrs: true,
    });
    const { cpis } = parse(text) as {
      cpis: readonly { name: string; type: string; properties: JsonObject }[];
    };
    assert.equal(new Set(cpis.map(({ name }) => name)).size, 2);
    for (const { type, properties } of cpis) {
      assert.equal(type, 'kubernetes');
      assert.equal(parseConfig({}, { director_uuid: 'd', ...properties }).kubernetes.namespace, 'bosh');
    }
  });

  test('disks of static volumes are as large as the volumes of manifests/cluster', async () => {
    const { disk_types: types } = parse(await readFile(`${directory}minikube.yml`, 'utf8')) as CloudConfig;
    const volumes = await readFile(new URL('../../manifests/cluster/volumes.yaml', import.meta.url), 'utf8');
    const size = types.find(({ name }) => name === 'static')?.disk_size ?? 0;
    assert.deepEqual(new Set(volumes.match(/storage: \w+/gu)), new Set([`storage: ${size / 1024}Gi`]));
  });
});

function assertAccepted(config: CloudConfig): void {
  const { azs, vm_types, vm_extensions = [], disk_types, networks, compilation } = config;
  const names = (all: readonly Named[]): string[] => all.map(({ name }) => name);
  assert.ok(names(azs).includes(compilation.az));
  assert.ok(names(vm_types).includes(compilation.vm_type));
  assert.ok(names(networks).includes(compilation.network));
  for (const { cloud_properties: properties = {} } of [...azs, ...vm_types, ...vm_extensions])
    parseVmProperties(argument(properties), parseConfig({}, {}));
  for (const { cloud_properties: properties = {} } of disk_types) parseDiskProperties(argument(properties));
  for (const { type, subnets } of networks) {
    for (const { dns = [], cloud_properties } of subnets) {
      assert.deepEqual(dns, []);
      parseNetworks(argument({ default: { type, ip: variables.internal_ip, cloud_properties } }));
    }
    assert.deepEqual(new Set(subnets.flatMap((subnet) => subnet.azs)), new Set(names(azs)));
  }
}
