import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { interpolateTemplate } from '../../src/bosh/manifest/interpolate-template.ts';
import { makeServerCertificate } from '../../src/bosh/testing/certificates.ts';
import { parseNetworks } from '../../src/cpi/network/networks.ts';
import { type CpiConfig, parseConfig } from '../../src/cpi/config/config.ts';
import { parseDiskProperties } from '../../src/cpi/disk/disk-properties.ts';
import { Field } from '../../src/platform/field.ts';
import type { ServiceRequest } from '../../src/cpi/service/service-properties.ts';
import { parseVmProperties } from '../../src/cpi/vm/properties.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { kubernetesCpiJob } from '../cpi/kubernetes-cpi-job.ts';
import { boshCli } from '../support/upstream-programs.ts';
import { operationsBetween, pathsOf, treeOf } from './manifest-paths.ts';
import { changed, pathsIn } from './path-lists.ts';

/**
 * bosh-deployment's files as documents with only their paths (paths/, by write-paths.ts), and our unchanged
 * files.
 */
const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-ops-'));
const job = await kubernetesCpiJob();
after(async () => {
  rmSync(directory, { recursive: true });
  await job.close();
});

const folder = new URL('paths/', import.meta.url);
const changedBy = (paths: readonly string[], name: string): string[] => changed(paths, pathsIn(folder, name));
const bosh = pathsIn(folder, 'bosh');
const uaa = changedBy(bosh, 'uaa');
const manifest = join(directory, 'bosh.yml');
writeFileSync(manifest, stringify(treeOf(bosh)));
const upstream = Object.fromEntries(
  (
    [
      ['uaa', bosh, uaa],
      ['credhub', uaa, changedBy(uaa, 'credhub')],
      ['jumpbox-user', bosh, changedBy(bosh, 'jumpbox-user')],
      ['bbr', bosh, changedBy(bosh, 'bbr')],
    ] as const
  ).map(([name, before, now]) => {
    const path = join(directory, `${name}.yml`);
    writeFileSync(path, stringify(operationsBetween(treeOf(before), treeOf(now))));
    return [`${name}.yml`, path];
  }),
);
const beside: readonly (readonly string[])[] = [
  [],
  ['uaa.yml'],
  ['uaa.yml', 'credhub.yml'],
  ['uaa.yml', 'credhub.yml', 'jumpbox-user.yml', 'bbr.yml'],
  ['jumpbox-user.yml'],
  ['bbr.yml'],
];

const ours = new URL('../../manifests/bosh-deployment/', import.meta.url).pathname;
const files = readdirSync(ours);
const pathOf = (name: string): string => upstream[name] ?? join(ours, name);

/**
 * Returns the files after which the file must be applied according to its first lines, preceded by those that
 * these need.
 */
function neededBy(name: string): string[] {
  if (name in upstream) return name === 'credhub.yml' ? ['uaa.yml'] : [];
  const [comment = ''] = readFileSync(pathOf(name), 'utf8').split(/^- /mu);
  const direct = [...comment.matchAll(/\bafter ([\w-]+\.yml)/giu)].map(([, needed = '']) => needed);
  return [...new Set(direct.flatMap((needed) => [...neededBy(needed), needed]))];
}

const variables = {
  director_name: 'director',
  internal_cidr: '10.88.0.0/16',
  internal_gw: '10.88.0.1',
  internal_ip: '10.88.0.7',
  kubernetes_namespace: 'bosh',
  kubernetes_cpi_release_version: '1',
  kubernetes_cpi_release_url: 'file:///release.tgz',
  kubernetes_cpi_release_sha1: 'sha256:0',
  kubernetes_server: 'https://192.0.2.1:6443',
  kubernetes_ca: (await makeServerCertificate()).ca,
  kubernetes_token: 'token',
  kubeconfig: stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://192.0.2.1:6443' } }],
    users: [{ name: 'c', user: { token: 'token' } }],
  }),
  stemcell_url: 'file:///stemcell.tgz',
  stemcell_sha1: 'sha256:1',
  node_address: '192.0.2.11',
  load_balancer_address: '192.0.2.12',
  registry_url: 'https://registry.example:5000',
  registry_repository: 'bosh/stemcells',
  registry_username: 'bosh',
  registry_password: 'password',
};

/** The parts of a rendered manifest that are checked. */
interface Rendered {
  readonly releases: readonly { readonly name: string; readonly url: string }[];
  readonly resource_pools: readonly { readonly cloud_properties?: object }[];
  readonly disk_pools: readonly { readonly cloud_properties?: object }[];
  readonly networks: readonly {
    readonly type: string;
    readonly dns?: unknown;
    readonly subnets?: readonly { readonly dns: unknown; readonly cloud_properties?: object }[];
    readonly cloud_properties?: object;
  }[];
  readonly instance_groups: readonly { readonly properties: Properties }[];
  readonly cloud_provider: { readonly mbus: string; readonly properties: Properties };
  readonly variables: readonly { name: string; options?: { alternative_names?: readonly string[] } }[];
}
type Properties = Readonly<Record<string, object>>;

const render = (names: readonly string[]): Promise<string> =>
  interpolateTemplate({ path: manifest, opsFiles: names.map(pathOf), variables });

/** Returns both orders, or only one if one of our files needs a file of upstream's. */
function ordersOf(own: readonly string[], others: readonly string[]): string[][] {
  const unique = (names: readonly string[]): string[] => [...new Set(names)];
  const needsUpstream = own.some((name) => name in upstream);
  const first = unique([...others, ...own]);
  return needsUpstream ? [first] : [first, unique([...own, ...others])];
}

describe('manifests/bosh-deployment', () => {
  for (const name of files) {
    test(`${name} fits bosh.yml before and after bosh-deployment's ops files, and after its prerequisites`, async () => {
      const own = [...neededBy(name), name];
      for (const others of beside) {
        for (const order of ordersOf(own, others)) {
          const text = await render(order).catch((error: unknown) => {
            throw new Error(order.join(' '), { cause: error });
          });
          await assertAccepted(parse(text) as Rendered, order);
        }
      }
    });
  }

  test('an ops file without its prerequisite names it', async () => {
    const needing = files.filter((name) => neededBy(name).length > 0);
    assert.ok(needing.length > 8, needing.join());
    for (const name of needing) {
      const needed = neededBy(name);
      const last = needed.filter((other) => !needed.some((each) => neededBy(each).includes(other)));
      for (const missing of last) {
        const without = needed.filter((other) => other !== missing);
        await assert.rejects(render([...without, name]), (error) => {
          assert.ok(isProductError(error, 'MANIFEST_INVALID'));
          assert.ok(
            error.message.includes(`${name} belongs after ${missing}`),
            `without ${missing}: ${error.message}`,
          );
          return true;
        });
      }
    }
  });

  test('an ops file for one kind of Service refuses the other kind, and names the Service of its UAA and CredHub', async () => {
    const ways = ['nodeport', 'loadbalancer'];
    for (const [way = '', other = ''] of [ways, ways.toReversed()]) {
      const base = ['cpi.yml', `${other}.yml`, 'uaa.yml', 'credhub.yml'];
      await assert.rejects(render([...base, `${way}-uaa.yml`]), {
        message: new RegExp(`${way}-uaa\\.yml belongs after ${way}\\.yml`, 'u'),
      });
      await assert.rejects(render([...base, `${other}-uaa.yml`, `${way}-credhub.yml`]), {
        message: new RegExp(`${way}-credhub\\.yml belongs after ${way}-uaa\\.yml`, 'u'),
      });
      await assert.rejects(render(['cpi.yml', `${way}.yml`, `${way}-uaa.yml`]), {
        message: new RegExp(`${way}-uaa\\.yml belongs after uaa\\.yml of bosh-deployment`, 'u'),
      });
    }
  });

  test('the paths of all files together are those of bosh-deployment', async () => {
    const all = parse(await render(['uaa.yml', 'credhub.yml', 'jumpbox-user.yml', 'bbr.yml'])) as unknown;
    const listed = ['credhub', 'jumpbox-user', 'bbr'].reduce(changedBy, uaa);
    assert.deepEqual(pathsOf(all).toSorted(), listed.toSorted());
  });

  test("the stand-in's bosh.yml has the paths of bosh-deployment's", async () => {
    const text = readFileSync(new URL('stand-in/bosh.yml', import.meta.url), 'utf8');
    assert.deepEqual(pathsOf(parse(text)).toSorted(), bosh.toSorted());
  });

  test('the files that shorten the waits of new VMs set properties of the jobs nats and director', async () => {
    const names = ['cpi.yml', 'dynamic-network.yml', 'nats-sync.yml', 'lasting-nats-credentials.yml'];
    const { instance_groups: groups } = parse(await render(names)) as Rendered;
    const { 'nats-sync': natsSync, director } = groups[0]?.properties ?? {};
    assert.deepEqual(natsSync, { intervals: { poll_user_sync: 1 } });
    const key = 'enable_short_lived_nats_bootstrap_credentials';
    assert.equal((director as Record<string, unknown> | undefined)?.[key], false);
  });

  test('a director on Debian has the profile that its postgres needs, and no release that is compiled for Ubuntu', async () => {
    const rendered = parse(
      await render(['cpi.yml', 'dynamic-network.yml', 'debian-stemcell.yml']),
    ) as Rendered;
    assert.equal(
      new Map(Object.entries(rendered.resource_pools[0]?.cloud_properties ?? {})).get('profile'),
      'privileged',
    );
    const others = rendered.releases.filter(({ name }) => name !== 'bosh-kubernetes');
    assert.deepEqual(
      others.map(({ name }) => name),
      ['bosh', 'bpm'],
    );
    for (const { url } of others)
      assert.match(url, /^https:\/\/bosh\.io\/d\/github\.com\/cloudfoundry\/[a-z-]+\?v=[\d.]+$/u);
  });

  test('two Services of one name are refused', async () => {
    const text = await render(['cpi.yml', 'nodeport.yml', 'loadbalancer.yml']);
    await assert.rejects(assertAccepted(parse(text) as Rendered, []), /services has a name twice/u);
  });

  const program = boshCli();
  test(
    'the bosh CLI gives the same result',
    { skip: program === undefined && 'needs the bosh CLI: bosh on PATH, or BOSH_CLI=<path>' },
    async () => {
      const given = join(directory, 'vars.yml');
      writeFileSync(given, stringify(variables));
      for (const name of files) {
        const own = [...neededBy(name), name];
        for (const order of ordersOf(own, ['uaa.yml', 'credhub.yml', 'jumpbox-user.yml', 'bbr.yml'])) {
          const args = ['int', manifest, ...order.flatMap((each) => ['-o', pathOf(each)]), '-l', given];
          const { stdout } = await promisify(execFile)(program ?? '', args);
          assert.equal(stdout, await render(order), order.join(' '));
        }
      }
    },
  );
});

const configs = new Map<string, Promise<CpiConfig>>();

/** Returns the configuration from the properties of a manifest. Each is rendered only once. */
function configOf({ kubernetes = {}, registry = {} }: Properties): Promise<CpiConfig> {
  const key = JSON.stringify({ kubernetes, registry });
  const known =
    configs.get(key) ?? job.renderConfig({ kubernetes, registry }).then((file) => parseConfig(file, {}));
  configs.set(key, known);
  return known;
}

/**
 * Asserts that the CPI's own parsers accept the files' configuration, on the operator's machine and on the
 * director's.
 */
async function assertAccepted(rendered: Rendered, order: readonly string[]): Promise<void> {
  const argument = (value: unknown): Field => new Field(value, order.join(' '), 'INVALID_ARGUMENT');
  const { cloud_provider: provider, networks } = rendered;
  const [director, outside] = await Promise.all([
    configOf(rendered.instance_groups[0]?.properties ?? {}),
    configOf(provider.properties),
  ]);
  const { services } = parseVmProperties(argument(rendered.resource_pools[0]?.cloud_properties), director);
  parseDiskProperties(argument(rendered.disk_pools[0]?.cloud_properties));
  const [network] = networks;
  assert.ok(network);
  const [subnet = { dns: [] }] = network.subnets ?? [];
  const { type, cloud_properties: properties = subnet.cloud_properties ?? {} } = network;
  const address = type === 'dynamic' ? { type } : { type: 'manual', ip: variables.internal_ip };
  parseNetworks(argument({ default: { ...address, cloud_properties: properties } }));
  if (!order.includes('cpi.yml')) return;
  assert.deepEqual(
    [director, outside].map(({ kubernetes }) => kubernetes.namespace),
    ['bosh', 'bosh'],
  );
  assert.deepEqual(network.dns ?? subnet.dns, [], 'name servers of their own');
  assertNamed(
    rendered,
    services.find(({ name }) => name === 'director'),
  );
}

/**
 * Asserts that every port that is reached from outside is a port of the Service, and that each certificate
 * there contains the address.
 */
function assertNamed(rendered: Rendered, service: ServiceRequest | undefined): void {
  const { hostname, port } = new URL(rendered.cloud_provider.mbus, 'path:/');
  assert.equal(hostname !== '', service !== undefined);
  if (service === undefined) return;
  const agent = service.ports.find(({ name }) => name === 'agent');
  assert.equal(Number(port), agent?.nodePort ?? agent?.port);
  const certificates = {
    agent: 'mbus_bootstrap_ssl',
    director: 'director_ssl',
    uaa: 'uaa_ssl',
    credhub: 'credhub_tls',
  };
  for (const [name, certificate] of Object.entries(certificates)) {
    if (!service.ports.some((each) => each.name === name)) continue;
    const { options } = rendered.variables.find((each) => each.name === certificate) ?? {};
    assert.ok(options?.alternative_names?.includes(hostname), `${certificate} does not name ${hostname}`);
  }
}
